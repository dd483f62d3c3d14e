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

func run(args []string) (err error) {
	doing := "the man pages"
	defer failed(&err, &doing)
	switch {
	case len(args) == 2 && args[0] == "man":
		writeMan(args[1])
		return nil
	case len(args) == 1:
		doing = "the module"
		t := newToolchain(checked(filepath.Abs("../..")))
		if err := t.check(); err != nil {
			return err
		}
		return makeAll(t, args[0], platforms())
	}
	return fmt.Errorf("usage: go run . OUT, or go run . man DIR")
}

// makeAll makes everything for some platforms, from the module of the toolchain.
func makeAll(t toolchain, out string, targets []platform) (err error) {
	doing := "the tree"
	defer failed(&err, &doing)
	check(os.MkdirAll(out, 0o755))
	if len(checked(os.ReadDir(out))) > 0 {
		return fmt.Errorf("%s is not empty: remove it first", out)
	}
	work := checked(os.MkdirTemp("", "till-dist-"))
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	check(export(t.root, tree))
	t.root = tree
	doing = "the notices"
	linked := notices(t, targets) // first, since building takes minutes
	doing = "the programs"
	builds := buildAll(t, work, targets)
	stage := newStage(t, work, builds, linked)
	for _, b := range builds {
		doing = "the archive for " + b.String()
		stage.archive(b, out)
		if b.OS == "linux" {
			doing = "the packages for " + b.String()
			stage.packages(b, out)
		}
	}
	doing = "the source archive"
	stage.source(t.root, out, builds[0])
	doing = "the image"
	stage.image(builds, out)
	doing = "the bill of materials"
	stage.materials(out)
	doing = "the sums"
	check(os.WriteFile(filepath.Join(out, "verify.sh"), stage.verify, 0o755))
	writeSums(out)
	return nil
}

// failure is a panic with an error, after which nothing can be made.
type failure struct{ err error }

// failed makes a failure the error of the function that defers it, with what that was doing.
func failed(err *error, doing *string) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = fmt.Errorf("%s: %w", *doing, f.err)
	default:
		panic(f)
	}
}

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func checked[T any](value T, err error) T {
	check(err)
	return value
}
