package render

import (
	"errors"
	"io"
	"testing"
)

func TestTemplateSeesExactJSON(t *testing.T) {
	item := payment{json: odd}
	for _, test := range []struct{ template, want string }{
		{"{{.z}} {{.e}}\n", "12345678901234567890 1E400\n"},
		{"{{.html}}", "<a&b>\n"},
		{"{{.missing}}", "<no value>\n"},
		{`{{json .html}} {{json .l}} {{json .z}}`, "\"<a&b>\" [] 12345678901234567890\n"},
		{"{{if false}}x{{end}}", ""},
	} {
		equal(t, one(t, Options{Template: test.template}, item), test.want)
	}
	equal(t, list(t, Options{Template: "{{range .}}{{.id}}={{.n}};{{end}}"}, both...),
		"wd_1=1.50;wd_2=12345678901234567890;\n")
	equal(t, list(t, Options{Template: "{{len .}}"}), "0\n")

	var failed *WriteError
	if err := payments.One(io.Discard, Options{Template: "{{.id.x}}"}, first); !errors.As(err, &failed) {
		t.Errorf("a template that fails on the data: %v", err)
	}
}
