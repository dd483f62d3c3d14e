package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// source writes the archive of the commit's files, with three more: what a build cannot know without git, its
// VERSION and its COMMIT with the date, and the notices.
func (s *stage) source(root, out string, b build) {
	text := checked(git(root, "archive", "--format=tar", "HEAD"))
	files := []file{
		{"COMMIT", 0o644, fmt.Appendf(nil, "%s %s\n", b.Commit, s.time.Format(time.RFC3339))},
		{"THIRD_PARTY_NOTICES", 0o644, s.notices}, {"VERSION", 0o644, []byte(s.version + "\n")},
	}
	// It is written again, because git's settings change the modes.
	for archive := tar.NewReader(strings.NewReader(text)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		if header.Typeflag != tar.TypeReg {
			continue // directories, and the commit in a header of its own
		}
		f := file{Name: header.Name, Mode: 0o644}
		if header.Mode&0o100 != 0 {
			f.Mode = 0o755
		}
		f.Data = checked(io.ReadAll(archive))
		files = append(files, f)
	}
	top := "till-" + s.version
	check(os.WriteFile(filepath.Join(out, top+"-source.tar.gz"), gzipped(s.tar(top, files)), 0o644))
}
