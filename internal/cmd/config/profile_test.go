package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"github.com/google/go-cmp/cmp"
)

func TestProfileRow(t *testing.T) {
	file := config.File{
		Current: "live",
		Profiles: map[string]config.Profile{"live": {
			Values: map[string]string{"base_url": "https://pay.example.com", "journal": "postgres://till:secret@db/till"},
			Lists: map[string][]string{"api_key_command": {"/usr/bin/pass", "show", "till/live"},
				"max_per_run": {"1.50 Doge", "25.00 USD"}},
			Currencies: []money.Entry{{Code: "Doge", Kind: api.Crypto, Decimals: 2},
				{Code: "Xrp", Kind: api.Crypto, Decimals: money.Unknown, MemoRequired: true}},
		}},
	}
	row := newProfileRow(file, "live")
	want := `{"name":"live","current":true,"built_in":false,"base_url":"https://pay.example.com",` +
		`"journal":"postgres://till:xxxxx@db/till",` +
		`"api_key_command":["/usr/bin/pass","show","till/live"],"max_per_run":["1.50 Doge","25.00 USD"],` +
		`"currencies":[{"code":"Doge","kind":"crypto","decimals":2},{"code":"Xrp","kind":"crypto","decimals":null,` +
		`"memo":"required"}]}`
	if diff := cmp.Diff(want, string(render.Encode(row.profileLine))); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{
		"base_url": "https://pay.example.com", "api_key_command": "/usr/bin/pass show till/live",
		"max_per_run": "1.50 Doge, 25.00 USD", "currencies": "Doge, Xrp", "account": "",
	} {
		if got := row.Text(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if diff := cmp.Diff(`{"name":"sandbox","current":false,"built_in":true}`,
		string(render.Encode(newProfileRow(file, "sandbox").profileLine))); diff != "" {
		t.Error(diff)
	}
}

func TestProfileLineHasEverySetting(t *testing.T) {
	var members []string
	for f := range reflect.TypeFor[profileLine]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		members = append(members, name)
	}
	if diff := cmp.Diff(slices.Concat([]string{"name", "current", "built_in"}, config.ProfileKeys()),
		members); diff != "" {
		t.Errorf("settings (-), members of the JSON (+):\n%s", diff)
	}
}
