// Package overlay patches copies of till's sources, so that a test can build a program with points at which
// it is stopped, with records of what it does, or with bugs that the test must find. The sources themselves
// know nothing of it.
package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Patch replaces a snippet of a source file, which must occur exactly once. The snippet has as few lines as
// identify the place. Several patches of a file are applied in order, each to the result of the one before.
// If a source has changed so that a patch does not apply, take the snippet from the new source, and keep the
// meaning of the point or bug.
type Patch struct{ File, Old, New string }

var inPatch = regexp.MustCompile(`(killpoint|\bat|[mM]utant)\("([^"]+)"\)`)

// serves names what a patch is for.
func (p Patch) serves() string {
	var names []string
	for _, m := range inPatch.FindAllStringSubmatch(p.New, -1) {
		name := "the point " + m[2]
		if strings.EqualFold(m[1], "mutant") {
			name = "the mutant " + m[2]
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "what others use"
	}
	return strings.Join(names, ", ")
}

// Apply returns a source with the patch, or an error if the source has changed.
func (p Patch) Apply(source string) (string, error) {
	if n := strings.Count(source, p.Old); n != 1 {
		return "", fmt.Errorf("the patch for %s does not apply to %s: its snippet is there %d times and not once; adapt the patch to what the source is now:\n%s", p.serves(), p.File, n, p.Old)
	}
	return strings.Replace(source, p.Old, p.New, 1), nil
}

// Sources returns the patched sources by their paths from the root. The error names every patch that does not
// apply. If there are helpers, each patched package gets a file with them. They are a format for the name of
// the package.
func Sources(root string, patches []Patch, helpers string) (map[string]string, error) {
	sources := map[string]string{}
	var problems []error
	for _, p := range patches {
		if sources[p.File] == "" {
			text, err := os.ReadFile(filepath.Join(root, p.File))
			if err != nil {
				return nil, err
			}
			sources[p.File] = string(text)
		}
		if text, err := p.Apply(sources[p.File]); err != nil {
			problems = append(problems, err)
		} else {
			sources[p.File] = text
		}
		if helpers == "" {
			continue
		}
		name := filepath.Base(filepath.Dir(p.File))
		if strings.HasPrefix(p.File, "cmd/") {
			name = "main"
		}
		sources[filepath.Join(filepath.Dir(p.File), "patch_helpers.go")] = fmt.Sprintf(helpers, name)
	}
	return sources, errors.Join(problems...)
}

// Build runs go build or go test -c from the root of the repository with the patched sources, and leaves the
// program in a directory. The flags come before the package.
func Build(dir, name string, patches []Patch, helpers string, args ...string) (program string, err error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return "", err
	}
	sources, err := Sources(root, patches, helpers)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range sources {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = copied
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	list := filepath.Join(dir, "overlay.json")
	if err := errors.Join(err, os.WriteFile(list, text, 0o600)); err != nil {
		return "", err
	}
	program = filepath.Join(dir, name)
	last := len(args) - 1
	args = slices.Concat(args[:last], []string{"-trimpath", "-overlay", list, "-o", program}, args[last:])
	build := exec.Command("go", args...)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return program, nil
}
