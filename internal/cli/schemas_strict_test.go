//go:build unix

package cli

import (
	"testing"

	"example.com/till/pkg/schema"
)

// TestSchemasRefuse checks values that a schema takes next to some that it must not take.
func TestSchemasRefuse(t *testing.T) {
	for _, c := range []struct {
		schema, value string
		want          bool
	}{
		{"error", `"kind":"usage","exit_code":10`, true},
		{"error", `"kind":"usage","exit_code":10,"details":[{"message":"d"}]`, true},
		{"error", `"kind":"usage","exit_code":127`, true},
		{"error", `"kind":"usage","exit_code":11`, false},
		{"error", `"kind":"internal","exit_code":127`, false},
		{"error", `"kind":"refused","exit_code":12`, false},
		{"error", `"kind":"refused","exit_code":12,"rule":"limit"`, true},
		{"error", `"kind":"rejected","exit_code":30,"rule":"limit"`, false},
		{"error", `"kind":"unknown","exit_code":20,"rule":"duplicate"`, true},
		{"error", `"kind":"unknown","exit_code":20,"rule":"limit"`, false},

		{"reseller balance", `{"Btc":1}`, true},
		{"reseller balance", `[7,null]`, true},
		{"reseller balance", `[]`, true},
		{"reseller balance", `[{"id":"a","label":"b","balance":null}]`, true},
		{"reseller balance", `[{"id":"a","label":"b","balance":1,"more":1}]`, false},
		{"reseller balance", `[{"id":"a","label":"b","balance":1},{"id":"a","balance":1}]`, false},
		{"reseller balance", `[{"id":1,"label":"b","balance":1}]`, false},
		{"reseller balance jsonl", `7`, true},
		{"reseller balance jsonl", `{"id":"a","label":"b","balance":1}`, true},
		{"reseller balance jsonl", `{"id":"a","label":2,"balance":1}`, false},

		{"schema", `{"kinds":[{}],"rules":[]}`, false},
		{"schema", `{"$schema":"s","title":"t","type":"array"}`, true},
	} {
		if c.schema == "error" {
			c.value = `{"error":{"message":"m","retryable":false,` + c.value + `}}`
		}
		if err := newSchemaCheck().value(c.schema, schema.Of(c.schema), []byte(c.value)); (err == nil) != c.want {
			t.Errorf("%s takes %s: %v, want %v\n%v", c.schema, c.value, err == nil, c.want, err)
		}
	}
}
