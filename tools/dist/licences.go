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
	"runtime"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// accepted are the licences that a linked module may have. They ask for their notice and no more of a program
// that links them unchanged.
var accepted = []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Apache-2.0", "Unlicense", "blessing"}

// byHand are the licences of the files that a person has read, by SHA-256, because they say more than a
// licence does.
var byHand = map[string][]string{
	// SQLite is in the public domain.
	"8438c9c89b849131ead81d5435cb97fcf052df5b0b286dda8a2d4c29e6cb3fd0": {"blessing"},
	// go.yaml.in/yaml/v3 says which of its files have which licence.
	"d18f6323b71b0b768bb5e9616e36da390fbd39369a81807cca352de4e4e6aa0b": {"MIT", "Apache-2.0"},
	// github.com/pelletier/go-toml/v2 begins with its name.
	"26844e4b53c5adec04e557fd7dfef281cc0205a7d355626b1c68b778b99e9e7b": {"MIT"},
	// github.com/dustin/go-humanize ends with a link to the licence.
	"a973b4498c13eb74baa2a8e5c351426a6826f2fcdd909916dbe53ee2e755fd71": {"MIT"},
	// github.com/inconshreveable/mousetrap has a copyright within the text of the Apache License.
	"4819582701f150b28a563a6cd8ed0bf5a754e3c67b90ad38d78ba4131bf77795": {"Apache-2.0"},
	// github.com/hiddeco/sshsig has the copyright of the Apache License's appendix, which says how to apply it.
	"c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4": {"Apache-2.0"},
	// modernc.org/libc contains parts of Go, of musl and of others.
	"f597097efe3d97021f89170746bd3a0fb9a8b6fb26b82043ed68a4e0283bee6c": {"BSD-3-Clause", "MIT"},
	// modernc.org/sqlite lists what else is in its repository, too. These are the licences of what is linked.
	"b4366b9c27a9364633e015011a231913ed19bf1228f335bf617e50a6f7b168a6": {"BSD-3-Clause", "MIT", "blessing"},
	// modernc.org/memory names the source of its logo, which is not linked.
	"5ae5bee3072a841376451b48d8cfcec7188e10543926d5870828d36c8a750dc5": nil,
	// Go and its modules grant the use of Google's patents. That is no licence of the text.
	"96f408bfae65bf137fc2525d3ecb030271c50c1e90799f87abf8846d8dd505cc": nil,
}

// golang has the licence of Go, which a distribution may keep elsewhere than in GOROOT.
//
//go:embed golang
var golang embed.FS

// notice is a module that is linked into the program, with its licences and their texts.
type notice struct {
	Path, Version string
	Sum           string   // as in go.sum; empty for the standard library
	Kinds         []string // SPDX identifiers
	Texts         []string
}

// notices returns the modules that are linked for any of the platforms, Go's standard library first. It fails for a
// module without a licence, or with one that is not accepted.
func notices(t toolchain, targets []platform) []notice {
	standard := notice{Path: "stdlib", Version: strings.TrimPrefix(runtime.Version(), "go")}
	check(standard.read(checked(fs.Sub(golang, "golang"))))
	linked := map[string]*notice{}
	seen := map[string]bool{}
	for _, target := range targets {
		listed := t.run(target, "list", "-deps",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}\t{{.Sum}}{{end}}{{end}}", "./cmd/till")
		for line := range strings.Lines(listed) {
			field := strings.Split(strings.TrimRight(line, "\n"), "\t")
			if len(field) != 5 {
				continue // of the standard library, or of this module
			}
			if linked[field[0]] == nil {
				linked[field[0]] = &notice{Path: field[0], Version: field[1], Sum: field[4]}
			}
			// A package may have a licence of its own, besides that of its module.
			for dir := field[3]; strings.HasPrefix(dir, field[2]) && !seen[dir]; dir = filepath.Dir(dir) {
				seen[dir] = true
				check(linked[field[0]].read(os.DirFS(dir)))
			}
		}
	}
	all := []notice{standard}
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		if len(linked[path].Kinds) == 0 {
			check(fmt.Errorf("the module %s has no licence: use another module", path))
		}
		all = append(all, *linked[path])
	}
	return all
}

var licenceFile = regexp.MustCompile(`(?i)licen[cs]e|copying|copyright|notice|patents`)

// read adds the licences in a directory of the module.
func (n *notice) read(dir fs.FS) error {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") || !licenceFile.MatchString(e.Name()) {
			continue
		}
		if e.IsDir() {
			return fmt.Errorf("the module %s has a directory %s, which is not read: read it, and say here what it has",
				n.Path, e.Name())
		}
		text, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return err
		}
		n.Texts = append(n.Texts, string(bytes.TrimSpace(text)))
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

// title may be before a licence that does not begin with its own name.
var title = regexp.MustCompile(`^(The)? ?(MIT License( \((MIT|Expat)\))?)?\s*(All rights reserved\.)?$`)

var (
	copyrightLine = regexp.MustCompile(`(?m)^[\t ]*(Portions )?(Copyright|©|\([cC]\) [0-9]).*$`)
	terms         = regexp.MustCompile(`(?i)\b(may|must|shall|can|cannot|not|no|only|except|unless|if|sell|use|pay|fee|require[sd]?)\b`)
)

// kindsOf returns the licences that a text has. Every word of the text has to be known, and every licence
// accepted.
func kindsOf(text []byte) (kinds []string, err error) {
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	if kinds, ok := byHand[sum]; ok {
		return kinds, nil
	}
	// licensecheck accepts any words after a copyright, so a copyright must be a name and no more.
	for _, line := range copyrightLine.FindAll(text, -1) {
		if words := bytes.TrimSpace(line); terms.Match(words) {
			return nil, unknownText(sum, words)
		}
	}
	text = copyrightLine.ReplaceAll(text, nil)
	var unknown [][]byte // what is around the licences
	end := 0
	for _, match := range licensecheck.Scan(text).Match {
		if !slices.Contains(accepted, match.ID) {
			return nil, fmt.Errorf("has the licence %s, which is not accepted: use another module", match.ID)
		}
		kinds = append(kinds, match.ID)
		unknown = append(unknown, text[end:match.Start])
		end = match.End
	}
	for _, part := range append(unknown, text[end:]) {
		if words := bytes.TrimSpace(part); len(words) > 0 && !title.Match(words) {
			return nil, unknownText(sum, words)
		}
	}
	return kinds, nil
}

func unknownText(sum string, words []byte) error {
	return fmt.Errorf("is not a licence that is known: read it, and say here what it is (SHA-256 %s, unknown is %.80q)", sum, words)
}

// authorities is the module with the certificates of the image. Nothing else has them.
const authorities = "golang.org/x/crypto/x509roots/fallback"

// authoritiesNotice returns the notice for the certificates. They are Mozilla's data in Go's module.
func authoritiesNotice(t toolchain) notice {
	n := notice{Path: authorities, Kinds: []string{"MPL-2.0"}, Texts: []string{
		"The certificates come from Mozilla's list of certificate authorities, under the Mozilla Public License 2.0\n" +
			"(https://mozilla.org/MPL/2.0/). Its source is certdata.txt of Mozilla's NSS:\n" +
			"https://hg.mozilla.org/projects/nss/file/tip/lib/ckfw/builtins/certdata.txt"}}
	t.root = filepath.Join(t.root, "tools", "dist")
	text := t.run(platforms()[0], "list", "-m", "-f", "{{.Version}}\t{{.Sum}}\t{{.Dir}}", authorities)
	field := strings.Split(strings.TrimSpace(text), "\t")
	if len(field) != 3 {
		check(fmt.Errorf("go list -m %s prints %q", authorities, text))
	}
	n.Version, n.Sum = field[0], field[1]
	check(n.read(os.DirFS(field[2])))
	return n
}

// expression returns the licences of till and of what is with it, as an SPDX expression.
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
