package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"os"
	"path"
	"path/filepath"
)

// archive writes the archive for a platform: zip for Windows, tar.gz otherwise, with man pages and
// completions.
func (s *stage) archive(b build, out string) {
	top := s.name(b.OS, b.Arch)
	files := append([]file{{filepath.Base(b.Path), 0o755, checked(os.ReadFile(b.Path))}}, s.documents()...)
	if b.OS == "windows" {
		files = append(files, file{"completions/till.ps1", 0o644, s.completions["till.ps1"]})
		check(os.WriteFile(filepath.Join(out, top+".zip"), s.zip(top, files), 0o644))
		return
	}
	for _, name := range sorted(s.completions) {
		files = append(files, file{"completions/" + name, 0o644, s.completions[name]})
	}
	for _, name := range sorted(s.man) {
		files = append(files, file{"man/man" + name[len(name)-1:] + "/" + name, 0o644, s.man[name]})
	}
	check(os.WriteFile(filepath.Join(out, top+".tar.gz"), gzipped(s.tar(top, files)), 0o644))
}

func (s *stage) tar(top string, files []file) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		header := &tar.Header{Name: path.Join(top, f.Name), Mode: int64(f.Mode.Perm()), Size: int64(len(f.Data)),
			ModTime: s.time, Format: tar.FormatUSTAR}
		if f.Mode.IsDir() {
			header.Name, header.Typeflag = header.Name+"/", tar.TypeDir
		}
		if f.Mode&os.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		header.Uid = f.owner()
		check(w.WriteHeader(header))
		checked(w.Write(f.Data))
	}
	check(w.Close())
	return b.Bytes()
}

func (s *stage) zip(top string, files []file) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: path.Join(top, f.Name), Method: zip.Deflate, Modified: s.time}
		header.SetMode(f.Mode)
		checked(checked(w.CreateHeader(header)).Write(f.Data))
	}
	check(w.Close())
	return b.Bytes()
}
