// Command measure says how much code there is, so that two states of the project can be compared: for each
// package lines without tests, lines of tests, functions over 60 lines, exported names and files, and the
// words of the docs.
//
//	go run ./tools/measure [DIRECTORY]
//
// Generated files and testdata are left out. The product is cmd, internal and pkg.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
)

// longFunction is the number of lines up to which a function is not counted as long.
const longFunction = 60

type counts struct{ lines, tests, long, exported, files int }

func (c *counts) add(other counts) {
	c.lines += other.lines
	c.tests += other.tests
	c.long += other.long
	c.exported += other.exported
	c.files += other.files
}

func main() {
	log.SetFlags(0)
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	packages, words := map[string]counts{}, 0
	tree := os.DirFS(root)
	check(fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(name, ".") && name != "."):
			return fs.SkipDir
		case path.Ext(name) == ".md" && path.Dir(name) == "docs":
			words += len(bytes.Fields(must(fs.ReadFile(tree, name))))
		case path.Ext(name) == ".go":
			sum := packages[path.Dir(name)]
			sum.add(count(name, must(fs.ReadFile(tree, name))))
			packages[path.Dir(name)] = sum
		}
		return nil
	}))
	show(packages, words)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

// count counts what is in one file of Go.
func count(name string, text []byte) counts {
	set := token.NewFileSet()
	file := must(parser.ParseFile(set, name, text, parser.SkipObjectResolution|parser.ParseComments))
	lines := bytes.Count(text, []byte("\n"))
	switch {
	case ast.IsGenerated(file):
		return counts{}
	case strings.HasSuffix(name, "_test.go"):
		return counts{tests: lines}
	}
	c := counts{lines: lines, files: 1}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if set.Position(d.End()).Line-set.Position(d.Pos()).Line >= longFunction {
				c.long++
			}
			if d.Name.IsExported() {
				c.exported++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				c.exported += exported(spec)
			}
		}
	}
	return c
}

// exported counts the exported names that a declaration of types, constants or variables makes.
func exported(spec ast.Spec) (n int) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			n = 1
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				n++
			}
		}
	}
	return n
}

func show(packages map[string]counts, words int) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, c counts) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t  %s\n", c.lines, c.tests, c.long, c.exported, c.files, name)
	}
	fmt.Fprintf(w, "lines\ttests\tover %d\texported\tfiles\t  package\n", longFunction)
	var product, all counts
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		row(name, packages[name])
		all.add(packages[name])
		switch first, _, _ := strings.Cut(name, "/"); first {
		case "cmd", "internal", "pkg":
			product.add(packages[name])
		}
	}
	row("product", product)
	row("all", all)
	check(w.Flush())
	fmt.Printf("%d words of docs\n", words)
}
