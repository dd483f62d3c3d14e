package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// mutant is one change of a file, which breaks it.
type mutant struct {
	file     string
	line     int
	kind     string
	was      string // the line, without spaces around it
	from, to int    // what is replaced, in bytes from the start of the file
	with     string
	after    string // the changed line
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s => %s", m.file, m.line, m.kind, m.was, m.after)
}

// turned has what may stand in the place of an operator.
var turned = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
}

// syncs are the calls that make something last, and harmless those that no test could miss.
var (
	syncs    = []string{"Sync", "SyncDirectory", "Commit", "Close"}
	harmless = []string{"Unlock", "RUnlock", "Grow", "Stop", "cancel", "panic"}
)

// finder collects the mutants of a file.
type finder struct {
	set       *token.FileSet
	text      string
	name      string
	statement ast.Expr // the call that is a whole statement
	found     []mutant
}

// mutantsOf returns every mutant of a file, in the order of its text. Generated files and what only describes
// a value have none.
func mutantsOf(name, text string) []mutant {
	f := finder{set: token.NewFileSet(), text: text, name: name}
	file := must(parser.ParseFile(f.set, name, text, parser.ParseComments|parser.SkipObjectResolution))
	if !ast.IsGenerated(file) {
		ast.Inspect(file, f.visit)
	}
	slices.SortStableFunc(f.found, func(a, b mutant) int { return a.from - b.from })
	return f.found
}

// visit adds the mutants of a node itself, and reports whether to look into it.
func (f *finder) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.FuncDecl:
		return n.Name.Name != "String" && n.Name.Name != "GoString"
	case *ast.ImportSpec, *ast.StructType:
		return false
	case *ast.BinaryExpr:
		return f.operator(n)
	case *ast.IfStmt:
		f.check(n)
	case *ast.BasicLit:
		if n.Kind == token.INT {
			f.add("number off by one", n.Pos(), n.End(), "("+n.Value+" + 1)")
		}
	case *ast.ReturnStmt:
		return f.answer(n)
	case *ast.ExprStmt:
		f.statement = n.X
		if name := called(n.X); name != "" && !slices.Contains(harmless, name) {
			f.add(kindOf(name), n.Pos(), n.End(), "if false { "+f.source(n)+" }")
		}
	case *ast.DeferStmt:
		f.statement = n.Call
		if name := called(n.Call); slices.Contains(syncs, name) {
			f.add(kindOf(name), n.Pos(), n.End(), "if false { "+f.source(n)+" }")
		}
	case *ast.CallExpr:
		if name := called(n); n != f.statement && slices.Contains(syncs, name) {
			f.add(kindOf(name), n.Pos(), n.End(), "func() (e error) { if false { e = "+f.source(n)+" }; return }()")
		}
		return called(n) != "make" // how much room it gets at first is no promise
	}
	return true
}

// operator adds the mutants of a comparison. Whether there is an error is left to check, and the length of a
// pause to nobody.
func (f *finder) operator(n *ast.BinaryExpr) bool {
	if n.Op == token.MUL && strings.HasPrefix(f.source(n.Y), "time.") {
		return false
	}
	if f.source(n.X) == "err" && f.source(n.Y) == "nil" {
		return true
	}
	for _, op := range turned[n.Op] {
		f.add("comparison turned", n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
	}
	return true
}

// check adds a mutant without the check that an if makes. The condition stays, so that what it uses is used.
func (f *finder) check(n *ast.IfStmt) {
	if len(n.Body.List) == 0 {
		return
	}
	kind := "check left out"
	if strings.Contains(f.source(n.Cond), "err != nil") {
		kind = "error ignored"
	}
	switch n.Body.List[len(n.Body.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		f.add(kind, n.Cond.Pos(), n.Cond.End(), "false && ("+f.source(n.Cond)+")")
	}
}

// answer adds the mutants of a return. What is returned beside an error means nothing.
func (f *finder) answer(n *ast.ReturnStmt) bool {
	if len(n.Results) > 1 && !slices.Contains([]string{"nil", "true", "false"}, f.source(n.Results[len(n.Results)-1])) {
		ast.Inspect(n.Results[len(n.Results)-1], f.visit)
		return false
	}
	for _, result := range n.Results {
		switch f.source(result) {
		case "true":
			f.add("answer turned", result.Pos(), result.End(), "false")
		case "false":
			f.add("answer turned", result.Pos(), result.End(), "true")
		}
	}
	return true
}

// called returns the last name of a called function.
func called(call ast.Expr) string {
	c, ok := call.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch fun := c.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

func kindOf(name string) string {
	if slices.Contains(syncs, name) {
		return "sync or close left out"
	}
	return "call left out"
}

func (f *finder) source(n ast.Node) string {
	return f.text[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset]
}

func (f *finder) add(kind string, from, to token.Pos, with string) {
	at := f.set.Position(from)
	m := mutant{file: f.name, line: at.Line, kind: kind, from: at.Offset, to: f.set.Position(to).Offset, with: with}
	m.was = lineAt(f.text, m.from)
	m.after = lineAt(m.apply(f.text), m.from)
	f.found = append(f.found, m)
}

// apply returns the text of the file with the change.
func (m mutant) apply(text string) string { return text[:m.from] + m.with + text[m.to:] }

func lineAt(text string, offset int) string {
	start := strings.LastIndexByte(text[:offset], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return strings.TrimSpace(line)
}
