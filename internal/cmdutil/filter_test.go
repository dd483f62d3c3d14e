package cmdutil

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/till/internal/money"
)

func TestTemplateSeesExactJSON(t *testing.T) {
	value := map[string]any{"z": json.Number("12345678901234567890"), "html": "<a&b>", "l": []any{}}
	for text, want := range map[string]string{
		"{{.z}}\n": "12345678901234567890\n", "{{.html}}": "<a&b>\n", "{{.missing}}": "<no value>\n",
		`{{json .html}} {{json .l}} {{json .z}}`: "\"<a&b>\" [] 12345678901234567890\n", "{{if false}}x{{end}}": "",
	} {
		filter, err := templateFilter(money.NewRegistry(), text)
		must(t, err)
		var b strings.Builder
		must(t, filter(value, &b))
		if b.String() != want {
			t.Errorf("%s prints %q, want %q", text, &b, want)
		}
	}
}
