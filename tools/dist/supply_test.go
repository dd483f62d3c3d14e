package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestActionsAreNamedByCommit checks that no workflow takes what a tag of somebody else leads to on that day.
func TestActionsAreNamedByCommit(t *testing.T) {
	uses := regexp.MustCompile(`uses: *(\S+)(.*)`)
	pinned := regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)
	found := 0
	for _, pattern := range []string{"../../.github/workflows/*.yml", "../../examples/*.yml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			for _, use := range uses.FindAllStringSubmatch(read(t, name), -1) {
				if found++; !pinned.MatchString(use[1]) || !strings.HasPrefix(use[2], " # v") {
					t.Errorf("%s: %s names no commit with its version", name, use[0])
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("%d actions were found", found)
	}
}

// TestReleaseNeedsTheVulnerabilities checks what happens where the database cannot be reached.
func TestReleaseNeedsTheVulnerabilities(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "curl"), []byte("#!/bin/sh\nexit 7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for flag, code := range map[string]int{"": 0, "--required": 1} {
		cmd := exec.Command("../../.ci/vuln", strings.Fields(flag)...)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		text, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(text), "cannot be reached") {
			t.Errorf("%q: %v: %s", flag, cmd.ProcessState, text)
		}
	}
	if text := read(t, "../../.github/workflows/release.yml"); !strings.Contains(text, "run: .ci/vuln --required") {
		t.Error("a release does not look for vulnerabilities")
	}
}
