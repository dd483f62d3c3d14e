// Dist makes what people install: archives for six platforms and of the source, packages for Debian, Red Hat
// and Alpine, an image for containers, and the sums, the bill of materials and the notices that go with them.
//
//	go run . OUT          writes everything for the commit that is checked out into the empty directory OUT
//	go run . man DIR      writes the man pages into DIR, and removes those that have no command any more
//
// Every file depends on nothing but the commit and the versions of Go and of the modules, which go.mod
// pins: made again elsewhere, it has the same bytes. With TILL_PGP_KEY and TILL_APK_KEY, the names of files,
// packages are signed, and differ in that.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "man":
		return writeMan(args[1])
	case len(args) == 1:
		root, err := filepath.Abs("../..")
		if err != nil {
			return err
		}
		t, err := newToolchain(root)
		if err != nil {
			return err
		}
		if err := t.check(); err != nil {
			return err
		}
		return makeAll(t, args[0], platforms())
	}
	return fmt.Errorf("usage: go run . OUT, or go run . man DIR")
}

// makeAll makes everything for some platforms, from the module of the toolchain.
func makeAll(t toolchain, out string, targets []platform) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if old, err := os.ReadDir(out); err != nil || len(old) > 0 {
		return fmt.Errorf("%s is not empty: remove it first", out)
	}
	work, err := os.MkdirTemp("", "till-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if err := export(t.root, tree); err != nil {
		return err
	}
	t.root = tree
	linked, err := notices(t, targets) // first, since building takes minutes
	if err != nil {
		return err
	}
	builds, err := buildAll(t, work, targets)
	if err != nil {
		return err
	}
	stage, err := newStage(t, work, builds, linked)
	if err != nil {
		return err
	}
	for _, b := range builds {
		if err := stage.archive(b, out); err != nil {
			return fmt.Errorf("the archive for %s: %w", b.platform, err)
		}
		if b.OS != "linux" {
			continue
		}
		if err := stage.packages(b, out); err != nil {
			return fmt.Errorf("the packages for %s: %w", b.platform, err)
		}
	}
	if err := stage.source(t.root, out, builds[0]); err != nil {
		return fmt.Errorf("the source archive: %w", err)
	}
	if err := stage.image(builds, out); err != nil {
		return fmt.Errorf("the image: %w", err)
	}
	if err := stage.materials(out); err != nil {
		return fmt.Errorf("the bill of materials: %w", err)
	}
	if err := os.WriteFile(filepath.Join(out, "verify.sh"), stage.verify, 0o755); err != nil {
		return err
	}
	return writeSums(out)
}
