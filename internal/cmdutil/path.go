package cmdutil

import "example.com/till/internal/render"

// pathLine is a path as JSON.
type pathLine struct {
	Path string `json:"path"`
}

// PathView returns the view of a path, and about says of what.
func PathView(about string) render.View[string] {
	return render.View[string]{
		ID:   func(path string) string { return path },
		JSON: render.Encoded(func(path string) pathLine { return pathLine{path} }),
		Columns: []render.Column[string]{
			{Name: "path", About: about, Cell: func(path string) render.Cell { return render.Own(path) }},
		},
	}
}
