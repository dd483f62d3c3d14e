package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// accepted are the licences that a linked module may have. They ask for their notice and no more of a program
// that links them unchanged.
var accepted = []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Apache-2.0", "MPL-2.0", "CC0-1.0", "Unlicense"}

// notice is a module that is linked into the program, with its licences and their texts.
type notice struct {
	Module debug.Module
	Kinds  []string // SPDX identifiers
	Texts  []string
}

// notices returns the modules that are linked into any of the builds, Go's standard library first. A module
// without a licence, or with one that is not accepted, is an error.
func notices(root string, builds []build) ([]notice, error) {
	linked := map[string]debug.Module{}
	for _, b := range builds {
		for _, m := range b.Info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			linked[m.Path] = *m
		}
	}
	goroot, err := output(root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	standard, err := readNotice(debug.Module{Path: "std", Version: builds[0].Info.GoVersion}, strings.TrimSpace(goroot))
	if err != nil {
		return nil, err
	}
	all := []notice{standard}
	listed, err := output(root, "go", append([]string{"list", "-m", "-json"}, paths(linked)...)...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(strings.NewReader(listed)); ; {
		var m struct{ Path, Version, Dir string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if m.Version != linked[m.Path].Version {
			return nil, fmt.Errorf("%s is linked at %s and listed at %s", m.Path, linked[m.Path].Version, m.Version)
		}
		n, err := readNotice(linked[m.Path], m.Dir)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

func paths(linked map[string]debug.Module) []string {
	var all []string
	for path := range linked {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

// A file of patents is no licence, and is passed on with it.
var licenceFile, patentsFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice)`),
	regexp.MustCompile(`(?i)^patents`)

// readNotice reads the licences in the directory of a module.
func readNotice(m debug.Module, dir string) (notice, error) {
	n := notice{Module: m}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return n, err
	}
	for _, e := range entries {
		isLicence := licenceFile.MatchString(e.Name())
		if e.IsDir() || !isLicence && !patentsFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return n, err
		}
		n.Texts = append(n.Texts, string(bytes.TrimSpace(text)))
		for _, match := range licensecheck.Scan(text).Match {
			if isLicence && !slices.Contains(n.Kinds, match.ID) {
				n.Kinds = append(n.Kinds, match.ID)
			}
		}
	}
	if len(n.Kinds) == 0 {
		return n, fmt.Errorf("no licence that is known was found in the module %s: read it, and say here what it is",
			m.Path)
	}
	for _, kind := range n.Kinds {
		if !slices.Contains(accepted, kind) {
			return n, fmt.Errorf("the module %s has the licence %s, which is not accepted: use another module",
				m.Path, kind)
		}
	}
	return n, nil
}

// noticeText returns the file that goes with every copy of the program.
func noticeText(all []notice) []byte {
	var b bytes.Buffer
	b.WriteString("till contains the following software by others, under these licences.\n")
	for _, n := range all {
		name := n.Module.Path + " " + n.Module.Version
		if n.Module.Path == "std" {
			name = "The Go standard library, " + n.Module.Version
		}
		fmt.Fprintf(&b, "\n%s\n%s (%s)\n\n%s\n", strings.Repeat("-", 78), name, strings.Join(n.Kinds, ", "),
			strings.Join(n.Texts, "\n\n"))
	}
	return b.Bytes()
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return string(out), nil
}
