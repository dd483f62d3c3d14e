package main

import (
	"bytes"
	"compress/gzip"
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
	pages       map[string][]byte // of docs/
	licence     []byte
	readme      []byte
	changes     []byte
	verify      []byte // the script that checks a download
	linked      []notice
	authorities notice // of the image
	notices     []byte // the licences of what is linked
	noticesGz   []byte
}

func newStage(t toolchain, work string, builds []build) (*stage, error) {
	s := &stage{dir: work, version: builds[0].Version, time: builds[0].Time.UTC(), completions: map[string][]byte{},
		man: map[string][]byte{}, pages: map[string][]byte{}}
	manuals, err := filepath.Glob(filepath.Join(t.root, "man", "*.[17]"))
	if err != nil {
		return nil, err
	}
	for _, name := range manuals {
		if s.man[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	for name, to := range map[string]*[]byte{"LICENSE": &s.licence, "README.md": &s.readme,
		"CHANGELOG.md": &s.changes, "examples/verify.sh": &s.verify} {
		if *to, err = os.ReadFile(filepath.Join(t.root, name)); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"till.bash", "_till", "till.fish", "till.ps1"} {
		if s.completions[name], err = os.ReadFile(filepath.Join(t.root, "completions", name)); err != nil {
			return nil, err
		}
	}
	pages, err := filepath.Glob(filepath.Join(t.root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, name := range pages {
		if s.pages[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	have := map[string]bool{"README.md": true}
	for name := range s.pages {
		have["docs/"+name] = true
	}
	s.readme = withoutLinks(s.readme, "README.md", have)
	for name, page := range s.pages {
		s.pages[name] = withoutLinks(page, "docs/"+name, have)
	}
	if s.linked, err = notices(t, builds); err != nil {
		return nil, err
	}
	if s.authorities, err = authoritiesNotice(t); err != nil {
		return nil, err
	}
	s.notices = noticeText(s.linked)
	s.noticesGz = gzipped(s.notices)
	return s, nil
}

var link = regexp.MustCompile(`(!?)\[([^\]]*)\]\(([^)#]*)[^)]*\)(\n*)`)

// withoutLinks removes the pictures of a page that do not go with it, and leaves nothing but the text of links to
// other such files.
func withoutLinks(page []byte, name string, have map[string]bool) []byte {
	return link.ReplaceAllFunc(page, func(found []byte) []byte {
		part := link.FindSubmatch(found)
		target := string(part[3])
		switch {
		case target == "", strings.Contains(target, ":"), have[path.Join(path.Dir(name), target)]:
			return found
		case len(part[1]) > 0:
			return nil
		}
		return append(part[2], part[4]...)
	})
}

// name returns the name of a file in the output.
func (s *stage) name(parts ...string) string {
	return "till_" + s.version + "_" + strings.Join(parts, "_")
}

// documents are the files that are in every archive.
func (s *stage) documents() []file {
	all := []file{
		{"LICENSE", 0o644, s.licence}, {"THIRD_PARTY_NOTICES", 0o644, s.notices},
		{"README.md", 0o644, s.readme}, {"CHANGELOG.md", 0o644, s.changes},
	}
	for _, name := range sorted(s.pages) {
		all = append(all, file{"docs/" + name, 0o644, s.pages[name]})
	}
	return all
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
