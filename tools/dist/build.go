package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// platform is an operating system and a processor, by Go's names.
type platform struct{ OS, Arch string }

func (p platform) String() string { return p.OS + "_" + p.Arch }

func platforms() []platform {
	return []platform{
		{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
		{"windows", "arm64"},
	}
}

// build is a binary, and what it says about itself.
type build struct {
	platform
	Path    string // of the binary
	Version string // without the v: of the tag, or 0.0.0-TIME-COMMIT if the commit has none
	Time    time.Time
	Info    *buildinfo.BuildInfo
}

// buildAll builds the program for each platform, without debugging information and with the commit in it.
func buildAll(root, work string, targets []platform) ([]build, error) {
	var builds []build
	for _, p := range targets {
		b := build{platform: p, Path: filepath.Join(work, p.String(), "till")}
		if p.OS == "windows" {
			b.Path += ".exe"
		}
		// Windows and images have no time zones of their own.
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-tags=timetzdata", "-ldflags=-s -w",
			"-o", b.Path, "./cmd/till")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=",
			"GOARM64=", "GOOS="+p.OS, "GOARCH="+p.Arch)
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
		}
		if err := b.read(); err != nil {
			return nil, err
		}
		builds = append(builds, b)
	}
	return builds, nil
}

// read reads the version and the commit from the binary.
func (b *build) read() (err error) {
	if b.Info, err = buildinfo.ReadFile(b.Path); err != nil {
		return err
	}
	for _, s := range b.Info.Settings {
		switch s.Key {
		case "vcs.modified":
			if s.Value != "false" {
				return fmt.Errorf("the tree has changes that are in no commit: commit or remove them first")
			}
		case "vcs.time":
			if b.Time, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return err
			}
		}
	}
	if b.Time.IsZero() {
		return fmt.Errorf("the binary does not say which commit it was built from: build in a clone of the repository")
	}
	b.Version = strings.TrimPrefix(b.Info.Main.Version, "v")
	return nil
}
