package main

import (
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
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
	notices     []notice
}

func newStage(root, work string, builds []build) (*stage, error) {
	s := &stage{dir: work, version: builds[0].Version, time: builds[0].Time.UTC(), completions: map[string][]byte{},
		pages: map[string][]byte{}}
	var err error
	if s.man, err = manPages(); err != nil {
		return nil, err
	}
	for name, to := range map[string]*[]byte{"LICENSE": &s.licence, "README.md": &s.readme,
		"CHANGELOG.md": &s.changes} {
		if *to, err = os.ReadFile(filepath.Join(root, name)); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"till.bash", "_till", "till.fish", "till.ps1"} {
		if s.completions[name], err = os.ReadFile(filepath.Join(root, "completions", name)); err != nil {
			return nil, err
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, name := range pages {
		if s.pages[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	s.notices, err = notices(root, builds)
	return s, err
}

// name returns the name of a file in the output.
func (s *stage) name(parts ...string) string {
	return "till_" + s.version + "_" + strings.Join(parts, "_")
}

// documents are the files that are in every archive.
func (s *stage) documents() []file {
	all := []file{
		{"LICENSE", 0o644, s.licence}, {"THIRD_PARTY_NOTICES", 0o644, noticeText(s.notices)},
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
