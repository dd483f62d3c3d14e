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
	row := newProfileRow(config.File{Profiles: map[string]config.Profile{"live": {
		Lists: map[string][]string{"api_key_command": {"/usr/bin/pass", "show"}, "max_per_run": {"1.50 Doge", "25.00 USD"}},
		Currencies: []money.Entry{{Code: "Doge", Kind: api.Crypto, Decimals: 2},
			{Code: "Xrp", Kind: api.Crypto, Decimals: money.Unknown, MemoRequired: true}},
	}}}, "live")
	want := `{"name":"live","current":false,"built_in":false,"api_key_command":["/usr/bin/pass","show"],` +
		`"max_per_run":["1.50 Doge","25.00 USD"],"currencies":[{"code":"Doge","kind":"crypto","decimals":2},` +
		`{"code":"Xrp","kind":"crypto","decimals":null,"memo":"required"}]}`
	if diff := cmp.Diff(want, string(render.Encode(row.profileLine))); diff != "" {
		t.Error(diff)
	}
	texts := row.Text("api_key_command") + "; " + row.Text("max_per_run") + "; " + row.Text("currencies") +
		row.Text("account")
	if texts != "/usr/bin/pass show; 1.50 Doge, 25.00 USD; Doge, Xrp" {
		t.Error(texts)
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
