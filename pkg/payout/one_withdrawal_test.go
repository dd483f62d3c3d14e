package payout

import (
	"bytes"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

// A watched transport notes the functions of this project that a create passes on its way down.
type watched struct{ passed []string }

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/create") {
		callers := make([]uintptr, 100)
		frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			name, ours := strings.CutPrefix(strings.TrimSuffix(f.Function, "[...]"), "example.com/till/")
			if !ours || strings.HasSuffix(f.File, "_test.go") {
				continue
			}
			folder := name[:strings.LastIndex(name, "/")+1]
			in, _, _ := strings.Cut(name[len(folder):], ".")
			place := folder + in + f.File[strings.LastIndex(f.File, "/"):] + " " + name[strings.LastIndex(name, ".")+1:]
			if len(w.passed) == 0 || w.passed[0] != place {
				w.passed = slices.Insert(w.passed, 0, place)
			}
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestOneWithdrawal checks that ARCHITECTURE.md names at most 15 functions in at most 8 files that a
// withdrawal passes, that each is there once, and that those on the way to the last byte are all of them, in
// this order.
func TestOneWithdrawal(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	ok(t, err)
	_, text, _ = bytes.Cut(text, []byte("## One withdrawal\n"))
	text, _, _ = bytes.Cut(text, []byte("\n## "))
	var listed []string
	files := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `(.+?)`, `(\\w+)`").FindAllStringSubmatch(string(text), -1) {
		file, name := m[1], m[2]
		source, err := goparser.ParseFile(token.NewFileSet(), "../../"+file, nil, goparser.SkipObjectResolution)
		ok(t, err)
		if !slices.ContainsFunc(source.Decls, func(d ast.Decl) bool {
			f, is := d.(*ast.FuncDecl)
			return is && f.Name.Name == name
		}) {
			t.Errorf("%s has no function %s", file, name)
		}
		if place := file + " " + name; slices.Contains(listed, place) {
			t.Errorf("%s is there twice", place)
		} else {
			listed = append(listed, place)
		}
		files[file] = true
	}
	if len(listed) > 15 || len(files) > 8 {
		t.Errorf("a withdrawal passes %d functions in %d files", len(listed), len(files))
	}
	d, w := newDesk(t), &watched{}
	if d.client, err = api.New(d.client.BaseURL(), api.WithAPIKey("key"), api.WithTransport(w)); err != nil {
		t.Fatal(err)
	}
	d.mustSend("1")
	rest := listed
	for _, place := range w.passed {
		i := slices.Index(rest, place)
		if i < 0 {
			t.Fatalf("%s is not on the list, or not in its place; a create passes\n%s", place, strings.Join(w.passed, "\n"))
		}
		rest = rest[i+1:]
	}
}
