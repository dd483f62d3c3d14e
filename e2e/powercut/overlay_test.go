//go:build unix

package powercut

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/till/e2e/overlay"
)

// The program of the record is built from copies of till's sources with a few patched lines: what the journal
// does to names, which SQLite does not see, is noted, and the program has a few mutants, which are bugs that
// a developer might make.

// mutants are the bugs that the tests must find.
var mutants = []string{
	"synchronous-normal", // a commit is in the log, and the log is not synced
	"synchronous-off",    // nothing is synced
	"no-directory-sync",  // a new directory or file is not synced into its directory
}

const importRecord = `
	"example.com/till/e2e/powercut/tape"
`

var patches = []overlay.Patch{
	{File: "internal/atomicfile/atomicfile.go", Old: `
	"runtime"
`, New: `
	"runtime"
` + importRecord},
	{File: "internal/atomicfile/atomicfile.go", Old: `
	return errors.Join(d.Sync(), d.Close())
`, New: `
	if tape.Mutant("no-directory-sync") {
		return d.Close()
	}
	err = d.Sync()
	if err == nil {
		tape.SyncedDirectory(dir)
	}
	return errors.Join(err, d.Close())
`},
	{File: "internal/journal/sqlite.go", Old: `
	"example.com/till/internal/atomicfile"
`, New: importRecord + `
	"example.com/till/internal/atomicfile"
`},
	{File: "internal/journal/sqlite.go", Old: `
	return atomicfile.SyncDirectory(filepath.Dir(dir))
`, New: `
	tape.MadeDirectory(dir)
	return atomicfile.SyncDirectory(filepath.Dir(dir))
`},
	{File: "internal/journal/sqlite.go", Old: `
	return f.Close()
}

// prepareFile`, New: `
	tape.MadeFile(d.path)
	return f.Close()
}

// prepareFile`},
	// what a power cut has left is written to another directory, and is no copy
	{File: "internal/journal/copy.go", Old: "if hooks(ctx).Copies ||", New: "if ctx != nil ||"},
	{File: "internal/journal/sqlite.go", Old: `"synchronous(full)"`, New: `"synchronous(" + tape.SyncMode() + ")"`},
	// so that the log begins again and again
	{File: "internal/journal/sqlite.go", Old: `"PRAGMA temp_store = memory; PRAGMA busy_timeout = 0"`,
		New: `"PRAGMA temp_store = memory; PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 40"`},
	{File: "internal/journal/marker.go", Old: `
	"modernc.org/sqlite"
`, New: importRecord + `
	"modernc.org/sqlite"
`},
	{File: "internal/journal/marker.go", Old: `"COMMIT", "PRAGMA synchronous = full")`,
		New: `"COMMIT", "PRAGMA synchronous = "+tape.SyncMode())`},
	{File: "internal/journal/journal.go", Old: `
	"example.com/till/internal/place"
`, New: importRecord + `
	"example.com/till/internal/place"
`},
	{File: "internal/journal/journal.go", Old: `
		o.steps = schema()
`, New: `
		o.steps = schema()
		if tape.FirstVersionOnly() {
			o.steps = o.steps[:1]
		}
`},
	{File: "pkg/payout/send.go", Old: `
	"example.com/till/internal/journal"
`, New: importRecord + `
	"example.com/till/internal/journal"
`},
	{File: "pkg/payout/send.go", Old: `
	case o.State == StateAccepted:
		return o, nil
`, New: `
	case o.State == StateAccepted:
		tape.WasReported(o.OrderID, o.ID)
		return o, nil
`},
}

// TestPatchesFit fails if a patch no longer fits, or a mutant has none.
func TestPatchesFit(t *testing.T) {
	if _, err := overlay.Sources(filepath.Join("..", ".."), patches, ""); err != nil {
		t.Error(err)
	}
	for _, name := range mutants {
		quoted := fmt.Sprintf("tape.Mutant(%q)", name)
		if !strings.HasPrefix(name, "synchronous-") && // in tape.SyncMode
			!slices.ContainsFunc(patches, func(p overlay.Patch) bool { return strings.Contains(p.New, quoted) }) {
			t.Errorf("no patch has the mutant %s", name)
		}
	}
}
