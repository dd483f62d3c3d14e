package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// source writes the archive of the commit's files, with two more: what a build cannot know without git, its
// VERSION, and the notices.
func (s *stage) source(root, out string) error {
	git := exec.Command("git", "-C", root, "archive", "--format=tar", "HEAD")
	text, err := git.Output()
	if err != nil {
		return fmt.Errorf("git archive: %w", err)
	}
	files := []file{{"THIRD_PARTY_NOTICES", 0o644, s.notices}, {"VERSION", 0o644, []byte(s.version + "\n")}}
	// It is written again, because git's settings change the modes.
	for archive := tar.NewReader(bytes.NewReader(text)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue // directories, and the commit in a header of its own
		}
		f := file{Name: header.Name, Mode: 0o644}
		if header.Mode&0o100 != 0 {
			f.Mode = 0o755
		}
		if f.Data, err = io.ReadAll(archive); err != nil {
			return err
		}
		files = append(files, f)
	}
	top := "till-" + s.version
	data, err := s.tar(top, files)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, top+"-source.tar.gz"), gzipped(data), 0o644)
}
