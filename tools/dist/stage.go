package main

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive, a package or the image.
type file struct {
	Name string // with slashes
	Mode os.FileMode
	Data []byte
}

// stage has what goes into archives and packages besides the binary, the same for all platforms.
type stage struct {
	dir         string // for files that a library wants on the disk
	version     string
	time        time.Time
	man         map[string][]byte
	completions map[string][]byte
	pages       []file // README.md, AGENTS.md, docs/ and examples/
	licence     []byte
	changes     []byte
	verify      []byte // the script that checks a download
	linked      []notice
	authorities notice // of the image
	notices     []byte // the licences of what is linked
	noticesGz   []byte
}

func newStage(t toolchain, work string, builds []build, linked []notice) *stage {
	s := &stage{dir: work, version: builds[0].Version, time: builds[0].Time.UTC(), completions: map[string][]byte{},
		man: map[string][]byte{}, linked: linked}
	read := func(name string) []byte { return checked(os.ReadFile(filepath.Join(t.root, name))) }
	for _, name := range checked(filepath.Glob(filepath.Join(t.root, "man", "*.[17]"))) {
		s.man[filepath.Base(name)] = checked(os.ReadFile(name))
	}
	s.licence, s.changes, s.verify = read("LICENSE"), read("CHANGELOG.md"), read("examples/verify.sh")
	for _, name := range []string{"till.bash", "_till", "till.fish", "till.ps1"} {
		s.completions[name] = read("completions/" + name)
	}
	s.pages, s.authorities = pages(os.DirFS(t.root)), authoritiesNotice(t)
	s.notices = noticeText(s.linked)
	s.noticesGz = gzipped(s.notices)
	return s
}

// pages returns what there is to read: README.md, AGENTS.md, docs/, and the examples that they link to.
func pages(tree fs.FS) (all []file) {
	have := map[string]bool{}
	for _, pattern := range []string{"README.md", "AGENTS.md", "docs/*.md", "examples", "examples/*", "examples/*/*"} {
		for _, name := range checked(fs.Glob(tree, pattern)) {
			have[name] = true
			info := checked(fs.Stat(tree, name))
			if info.IsDir() {
				continue
			}
			f := file{name, 0o644, checked(fs.ReadFile(tree, name))}
			if info.Mode()&0o100 != 0 {
				f.Mode = 0o755
			}
			all = append(all, f)
		}
	}
	for i, f := range all {
		if path.Ext(f.Name) == ".md" {
			all[i].Data = withoutDeadLinks(f, have)
		}
	}
	return all
}

var link = regexp.MustCompile(`\]\(([^)#]*)[^)]*\)`)

// withoutDeadLinks leaves out the paragraphs of a page that link to files that do not go with it, or show
// them: the pictures, and what only a clone has.
func withoutDeadLinks(page file, have map[string]bool) []byte {
	paragraphs := bytes.SplitAfter(page.Data, []byte("\n\n"))
	paragraphs = slices.DeleteFunc(paragraphs, func(text []byte) bool {
		return slices.ContainsFunc(link.FindAllSubmatch(text, -1), func(found [][]byte) bool {
			target := string(found[1])
			return target != "" && !strings.Contains(target, ":") && !have[path.Join(path.Dir(page.Name), target)]
		})
	})
	return bytes.Join(paragraphs, nil)
}

// name returns the name of a file in the output.
func (s *stage) name(parts ...string) string {
	return "till_" + s.version + "_" + strings.Join(parts, "_")
}

// documents are the files that are in every archive.
func (s *stage) documents() []file {
	all := []file{
		{"LICENSE", 0o644, s.licence}, {"THIRD_PARTY_NOTICES", 0o644, s.notices},
		{"CHANGELOG.md", 0o644, s.changes},
	}
	return append(all, s.pages...)
}

func sorted(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }

// gzipped compresses without a name and a time.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	w.Write(data)
	w.Close()
	return b.Bytes()
}
