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
	"send-first",         // the create leaves before its claim is recorded
	"no-directory-sync",  // a new directory or file is not synced into its directory
	"report-first",       // an order is reported as accepted before that is recorded
}

// patch is an overlay.Patch.
type patch struct{ File, Old, New string }

const importRecord = `
	"example.com/till/e2e/powercut/tape"
`

var patches = []patch{
	{
		"internal/atomicfile/atomicfile.go", `
	"runtime"
`, `
	"runtime"
` + importRecord,
	},
	{
		"internal/atomicfile/atomicfile.go", `
	return errors.Join(d.Sync(), d.Close())
`, `
	if tape.Mutant("no-directory-sync") {
		return d.Close()
	}
	err = d.Sync()
	if err == nil {
		tape.SyncedDirectory(dir)
	}
	return errors.Join(err, d.Close())
`,
	},
	{
		"internal/journal/sqlite.go", `
	"example.com/till/internal/atomicfile"
`, importRecord + `
	"example.com/till/internal/atomicfile"
`,
	},
	{
		"internal/journal/sqlite.go", `
	return atomicfile.SyncDirectory(filepath.Dir(dir))
`, `
	tape.MadeDirectory(dir)
	return atomicfile.SyncDirectory(filepath.Dir(dir))
`,
	},
	{
		"internal/journal/sqlite.go", `
	return f.Close()
}

// prepareFile`, `
	tape.MadeFile(d.path)
	return f.Close()
}

// prepareFile`,
	},
	{ // what a power cut has left is written to another directory, and is no copy
		"internal/journal/copy.go", "if hooks(ctx).Copies ||", "if ctx != nil ||",
	},
	{"internal/journal/sqlite.go", `"synchronous(full)"`, `"synchronous(" + tape.SyncMode() + ")"`},
	{ // so that the log begins again and again
		"internal/journal/sqlite.go",
		`"PRAGMA temp_store = memory; PRAGMA busy_timeout = 0"`,
		`"PRAGMA temp_store = memory; PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 40"`,
	},
	{
		"internal/journal/marker.go", `
	"modernc.org/sqlite"
`, importRecord + `
	"modernc.org/sqlite"
`,
	},
	{"internal/journal/marker.go", `"COMMIT", "PRAGMA synchronous = full")`,
		`"COMMIT", "PRAGMA synchronous = "+tape.SyncMode())`},
	{
		"internal/journal/journal.go", `
	"example.com/till/internal/place"
`, importRecord + `
	"example.com/till/internal/place"
`,
	},
	{
		"internal/journal/journal.go", `
		o.steps = schema()
`, `
		o.steps = schema()
		if tape.FirstVersionOnly() {
			o.steps = o.steps[:1]
		}
`,
	},
	{
		"pkg/payout/send.go", `
	"example.com/till/internal/journal"
`, importRecord + `
	"example.com/till/internal/journal"
`,
	},
	{
		"pkg/payout/send.go", `
	ticket, err := s.ledger.Claim(ctx, c)
`, `
	if tape.Mutant("send-first") {
		var made call
		made.id, made.err = s.client.Withdrawals.Create(calls, requestOf(Order{OrderID: c.OrderID, Content: c.Content, Callback: c.Callback}))
		ticket, err := s.ledger.Claim(ctx, c)
		if err == nil {
			order, recording := s.finish(ctx, calls, ticket, s.outcomeOf(made))
			ended(s.recorded(ticket, made, order, recording))
		}
		return err
	}
	ticket, err := s.ledger.Claim(ctx, c)
`,
	},
	{
		"pkg/payout/send.go", `
	return call{id, err, left.Load()}
`, `
	if tape.Mutant("report-first") && err == nil {
		tape.WasReported(ticket.Order().OrderID, id)
	}
	return call{id, err, left.Load()}
`,
	},
	{
		"pkg/payout/send.go", `
	case o.State == StateAccepted:
		return o, nil
`, `
	case o.State == StateAccepted:
		tape.WasReported(o.OrderID, o.ID)
		return o, nil
`,
	},
}

// TestPatchesFit fails if a patch no longer fits, or a mutant has none.
func TestPatchesFit(t *testing.T) {
	if _, err := overlay.Sources(filepath.Join("..", ".."), overlay.Patches(patches), ""); err != nil {
		t.Error(err)
	}
	for _, name := range mutants {
		quoted := fmt.Sprintf("tape.Mutant(%q)", name)
		if !strings.HasPrefix(name, "synchronous-") && // in tape.SyncMode
			!slices.ContainsFunc(patches, func(p patch) bool { return strings.Contains(p.New, quoted) }) {
			t.Errorf("no patch has the mutant %s", name)
		}
	}
}
