package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// goVersion is the version of Go that makes a release. Another one makes other bytes.
const goVersion = "go1.26.8"

// toolchain is the go command as it runs in a module. The settings that change what it makes do not come from
// the person who runs it, neither from variables nor from the file of go env -w.
type toolchain struct {
	root    string
	version string
	env     []string
}

func newToolchain(root string) toolchain {
	// Where modules come from, and where results are kept.
	kept := []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOINSECURE", "GOMODCACHE", "GOCACHE",
		"GOTOOLCHAIN"}
	cmd := exec.Command("go", append([]string{"env", "-json", "GOVERSION"}, kept...)...)
	cmd.Dir = root
	var settings map[string]string
	check(json.Unmarshal(checked(cmd.Output()), &settings))
	t := toolchain{root: root, version: settings["GOVERSION"]}
	t.env = append(os.Environ(), "GOENV=off", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1",
		"GOARM64=v8.0", "GOFIPS140=off")
	for _, name := range kept {
		t.env = append(t.env, name+"="+settings[name])
	}
	return t
}

// check refuses a toolchain that makes other bytes than those of a release.
func (t toolchain) check() error {
	if t.version != goVersion {
		return fmt.Errorf("a release is made with %s, and this is %s: run GOTOOLCHAIN=%[1]s make dist", goVersion, t.version)
	}
	return nil
}

// run runs the go command for a platform.
func (t toolchain) run(p platform, args ...string) string {
	cmd := exec.Command("go", args...)
	cmd.Dir = t.root
	cmd.Env = append(t.env[:len(t.env):len(t.env)], "GOOS="+p.OS, "GOARCH="+p.Arch)
	return checked(printed(cmd))
}

// printed returns what a command prints. Its errors are a part of the error.
func printed(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}

// build is a binary, and what it says about itself.
type build struct {
	platform
	Path    string // of the binary
	Version string // without the v: of the tag, or 0.0.0-TIME-COMMIT if the commit has none
	Commit  string
	Time    time.Time
}

// buildAll builds the program for each platform, without debugging information and with the commit in it.
func buildAll(t toolchain, work string, targets []platform) (builds []build) {
	for _, p := range targets {
		b := build{platform: p, Path: filepath.Join(work, p.String(), "till")}
		if p.OS == "windows" {
			b.Path += ".exe"
		}
		t.run(p, "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", b.Path, "./cmd/till")
		b.read()
		builds = append(builds, b)
	}
	return builds
}

// checkTree refuses a tree from which others could not make the same: with changes that are in no commit, or
// without the tags that name the version.
func checkTree(root string) error {
	place, err := git(root, "rev-parse", "--show-toplevel", "--show-prefix")
	if _, prefix, _ := strings.Cut(strings.TrimSpace(place), "\n"); err != nil || prefix != "" {
		if err == nil {
			err = fmt.Errorf("git has it as the directory %s of another repository", prefix)
		}
		return fmt.Errorf("a release is made from a commit, and %s is not a clone of the repository: run make dist in a clone (%w)",
			root, err)
	}
	hidden := regexp.MustCompile(`(?m)^([a-z]|S) `) // the tags of files that git does not compare
	for _, check := range []struct {
		command, fault string
		pick           *regexp.Regexp // of the output; nil: all of it
	}{
		{"status --porcelain --untracked-files=all", "the tree has changes that are in no commit: commit or remove them first", nil},
		// These are built into the program that makes the release.
		{"ls-files --others -- *.go *.s *.syso", "there are files that git ignores and Go does not: remove them first", nil},
		{"ls-files -v", "git does not look for changes in some files: " +
			"git update-index --no-assume-unchanged --no-skip-worktree FILE", hidden},
		{"rev-parse --is-shallow-repository", "the clone is not complete, so its tags may be missing: git fetch --unshallow --tags",
			regexp.MustCompile("true")},
	} {
		text, err := git(root, strings.Fields(check.command)...)
		if err != nil {
			return err
		}
		if check.pick != nil {
			var found []string
			for line := range strings.Lines(text) {
				if check.pick.MatchString(line) {
					found = append(found, strings.TrimSpace(line))
				}
			}
			text = strings.Join(found, "\n")
		}
		if found := strings.TrimSpace(text); found != "" {
			return fmt.Errorf("%s (%s)", check.fault, found)
		}
	}
	return nil
}

// export checks the tree, and clones its commit to a directory, so that nothing but the commit is built. It
// is a clone because Go takes the version, the commit and the date from git.
func export(root, dir string) error {
	if err := checkTree(root); err != nil {
		return err
	}
	commit, err := git(root, "rev-parse", "HEAD")
	if err == nil {
		_, err = git(root, "clone", "--quiet", "--shared", "--no-checkout", "--template=", root, dir)
	}
	if err == nil {
		_, err = git(dir, "checkout", "--quiet", "--detach", strings.TrimSpace(commit))
	}
	return err
}

// git returns what a command of git prints.
func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	return printed(cmd)
}

// read reads the version and the commit from the binary.
func (b *build) read() {
	info := checked(buildinfo.ReadFile(b.Path))
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.time":
			b.Time = checked(time.Parse(time.RFC3339, s.Value))
		case "vcs.revision":
			b.Commit = s.Value
		}
	}
	if b.Time.IsZero() {
		check(errors.New("the binary does not say which commit it was built from: build in a clone of the repository"))
	}
	b.Version = strings.TrimPrefix(info.Main.Version, "v")
}
