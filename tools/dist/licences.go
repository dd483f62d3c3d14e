package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// accepted are the licences that a linked module may have. They ask for their notice and no more of a program
// that links them unchanged.
var accepted = []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Apache-2.0", "Unlicense", "blessing"}

// byHand are the licences that a person has read because their texts are not known otherwise, by SHA-256.
var byHand = map[string]string{
	"8438c9c89b849131ead81d5435cb97fcf052df5b0b286dda8a2d4c29e6cb3fd0": "blessing", // SQLite is in the public domain
}

// golang has the licence of Go, which a distribution may keep elsewhere than in GOROOT.
//
//go:embed golang
var golang embed.FS

// notice is a module that is linked into the program, with its licences and their texts.
type notice struct {
	Path, Version string
	Kinds         []string // SPDX identifiers
	Texts         []string
}

// notices returns the modules that are linked into any of the builds, Go's standard library first. A module
// without a licence, or with one that is not accepted, is an error.
func notices(t toolchain, builds []build) ([]notice, error) {
	licence, err := fs.Sub(golang, "golang")
	if err != nil {
		return nil, err
	}
	standard := notice{Path: "stdlib", Version: strings.TrimPrefix(builds[0].Info.GoVersion, "go")}
	if err := standard.read(licence); err != nil {
		return nil, err
	}
	linked := map[string]*notice{}
	seen := map[string]bool{}
	for _, b := range builds {
		listed, err := t.run(b.platform, "list", "-deps", "-tags=timetzdata",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./cmd/till")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(listed) {
			field := strings.Split(strings.TrimRight(line, "\n"), "\t")
			if len(field) != 4 {
				continue // of the standard library, or of this module
			}
			if linked[field[0]] == nil {
				linked[field[0]] = &notice{Path: field[0], Version: field[1]}
			}
			// A package may have a licence of its own, besides that of its module.
			for dir := field[3]; strings.HasPrefix(dir, field[2]) && !seen[dir]; dir = filepath.Dir(dir) {
				seen[dir] = true
				if err := linked[field[0]].read(os.DirFS(dir)); err != nil {
					return nil, err
				}
			}
		}
	}
	all := []notice{standard}
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		if len(linked[path].Kinds) == 0 {
			return nil, fmt.Errorf("the module %s has no licence: use another module", path)
		}
		all = append(all, *linked[path])
	}
	return all, nil
}

// Files of patents and of what else is in a repository are no licences of the module, and are passed on with it.
var licenceFile, otherFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice)`),
	regexp.MustCompile(`(?i)^(patents|licen[cs]e-(3rd-party|logo))`)

// read adds the licences in a directory of the module.
func (n *notice) read(dir fs.FS) error {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		other := otherFile.MatchString(e.Name())
		if e.IsDir() || strings.HasSuffix(e.Name(), ".go") || !other && !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return err
		}
		n.Texts = append(n.Texts, string(bytes.TrimSpace(text)))
		if other {
			continue
		}
		kinds, err := kindsOf(text)
		if err != nil {
			return fmt.Errorf("%s of the module %s %w", e.Name(), n.Path, err)
		}
		for _, kind := range kinds {
			if !slices.Contains(n.Kinds, kind) {
				n.Kinds = append(n.Kinds, kind)
			}
		}
	}
	return nil
}

// mostly is how much of a licence has to be known, in percent. The rest is names and years.
const mostly = 75

// kindsOf returns the licences that a text has. All of the text has to be known and accepted.
func kindsOf(text []byte) (kinds []string, err error) {
	if kind := byHand[fmt.Sprintf("%x", sha256.Sum256(text))]; kind != "" {
		return []string{kind}, nil
	}
	found := licensecheck.Scan(text)
	if found.Percent < mostly {
		return nil, fmt.Errorf("is not a licence that is known: read it, and say here what it is (%.0f%% known, SHA-256 %x)",
			found.Percent, sha256.Sum256(text))
	}
	for _, match := range found.Match {
		if !slices.Contains(accepted, match.ID) {
			return nil, fmt.Errorf("has the licence %s, which is not accepted: use another module", match.ID)
		}
		kinds = append(kinds, match.ID)
	}
	return kinds, nil
}

// expression returns the licences of the whole program, as an SPDX expression.
func expression(all []notice) string {
	kinds := []string{"MIT"} // till's own
	for _, n := range all {
		kinds = append(kinds, n.Kinds...)
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), " AND ")
}

// noticeText returns the file that goes with every copy of the program.
func noticeText(all []notice) []byte {
	var b bytes.Buffer
	b.WriteString("till contains the following software by others, under these licences.\n")
	for _, n := range all {
		name := n.Path + " " + n.Version
		if n.Path == "stdlib" {
			name = "The Go standard library " + n.Version
		}
		fmt.Fprintf(&b, "\n%s\n%s (%s)\n\n%s\n", strings.Repeat("-", 78), name, strings.Join(n.Kinds, ", "),
			strings.Join(n.Texts, "\n\n"))
	}
	return b.Bytes()
}
