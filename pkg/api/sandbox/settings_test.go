package sandbox_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// TestSettingsAreDocumented checks that the table in the package documentation and
// Settings are the same list: every row ends in its own setting, and every setting
// has a row. A row that ends in three dots covers all settings with the same first
// word.
func TestSettingsAreDocumented(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "\tWHERE THE INTERFACE IS SILENT")
	head, table, _ := strings.Cut("WHERE THE INTERFACE IS SILENT"+rest, "\n")
	table, _, _ = strings.Cut(table, "package sandbox")
	what, column := strings.Index(head, "WHAT THE SANDBOX DOES"), strings.Index(head, "SETTING")
	text := map[string]string{} // the second column, by setting
	last := ""
	for line := range strings.Lines(table) {
		line = strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(line, "//"), "\t"), "\n")
		begins := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ")
		if begins {
			if len(line) <= column || line[what-1] != ' ' || line[column-1] != ' ' || line[what] == ' ' {
				t.Errorf("the row %q has no setting, or its columns are not in line", line)
				continue
			}
			if last = line[column:]; text[last] != "" {
				t.Errorf("%s has two rows", last)
			}
		} else if len(line) > column {
			t.Errorf("%q is no row and has a setting", line)
		}
		if len(line) > what {
			text[last] += strings.TrimSpace(line[what:min(len(line), column)]) + " "
		}
	}
	used := map[string]bool{}
	for _, s := range sandbox.Settings() {
		if s.Meaning == "" || s.Values == "" {
			t.Errorf("setting %+v is incomplete", s)
		}
		row, shows := s.Name, s.Default
		if family, code, found := strings.Cut(s.Name, "_"); found && sandboxCurrency(code) {
			row, shows = family+"_Btc ...", code+" "+s.Default
		} else if used[row] {
			t.Errorf("setting %s is there twice", s.Name)
		} else if !strings.HasPrefix(s.Name, "error_") {
			shows = ""
		}
		if used[row] = true; text[row] == "" {
			t.Errorf("setting %s has no row", s.Name)
		} else if shows != "" && !strings.Contains(" "+strings.NewReplacer(",", " ").Replace(text[row]), " "+shows+" ") {
			t.Errorf("the row of %s does not say %s", s.Name, shows)
		}
	}
	for row := range text {
		if !used[row] {
			t.Errorf("there is a row of %q, which is no setting", row)
		}
	}
}

func sandboxCurrency(code string) bool {
	return slices.ContainsFunc(sandbox.Currencies(), func(c sandbox.Currency) bool { return c.Code == code })
}

func TestSettingDefaults(t *testing.T) {
	for _, s := range sandbox.Settings() {
		if _, err := sandbox.New(set(s.Name, s.Default)); err != nil {
			t.Errorf("its own default: %v", err)
		}
	}
}

func TestSettingsRefused(t *testing.T) {
	for _, bad := range [][2]string{
		{"", ""}, {"first-page", "1"}, {"first_page", ""}, {"first_page", "2"}, {"first_page", "-1"}, {"first_page", "01"},
		{"default_page_size", "0"}, {"default_page_size", "1001"}, {"max_page_size", "5"}, {"list_order", "Newest"}, {"list_order", ""},
		{"time_layout", ""}, {"time_layout", "2006-01-02"}, {"time_layout", "rfc3339"}, {"time_layout", "2006-01-02 03:04:05"},
		{"withdrawal_flow", ""}, {"withdrawal_flow", "A>"}, {"withdrawal_flow", "A>B*>C"}, {"withdrawal_flow", "A*"}, {"withdrawal_flow", "A b>C"},
		{"withdrawal_pace", ""}, {"withdrawal_pace", "New>Processing"}, {"withdrawal_pace", "New=30s"}, {"withdrawal_pace", "New>Completed=30s"}, {"withdrawal_pace", "New>Processing=0s"}, {"withdrawal_pace", "New>Processing=1.5s"},
		{"withdrawal_pace", "New>Processing=-1s"}, {"withdrawal_pace", "New>Processing=30"}, {"withdrawal_pace", "New>Processing=30s,New>Cancelled=1m"}, {"withdrawal_pace", "New>Processing=30s,"}, {"withdrawal_pace", "New>Processing=36501d"},
		{"invoice_expiry", ""}, {"invoice_expiry", "0s"}, {"invoice_expiry", "never,1h"}, {"invoice_expiry", "-1d"}, {"invoice_expiry", "90"},
		{"invoice_statuses", "A,B"}, {"invoice_statuses", "A,A,B"}, {"invoice_states", "A,,B"},
		{"rebate_percent", "-1"}, {"rebate_percent", "100.0001"}, {"rebate_percent", "1.00001"}, {"rebate_percent", "1,5"}, {"rebate_percent", "1e1"}, {"rebate_percent", "1."}, {"rebate_percent", ".5"},
		{"callback_on_create", "maybe"}, {"callback_attempts", "0"}, {"callback_attempts", "51"}, {"callback_targets", "all"},
		{"callback_backoff", "0s"}, {"callback_backoff", "61m"}, {"callback_backoff", "2"}, {"callback_timeout", "-1s"}, {"callback_timeout", "2m"},
		{"rate_Btc", "0"}, {"rate_Btc", "-1"}, {"rate_Btc", "1000000000"}, {"rate_Btc", "0.0000000001"}, {"rate_Doge", "1"},
		{"fiat_currency", "Btc"}, {"error_not_found", "404"}, {"error_not_found", "200:1"}, {"error_not_found", "404:x"},
	} {
		_, err := sandbox.New(set(bad[0], bad[1]))
		if err == nil {
			t.Errorf("%s=%q was taken", bad[0], bad[1])
		} else if !strings.Contains(err.Error(), bad[0]) {
			t.Errorf("%s=%q: %v does not name the setting", bad[0], bad[1], err)
		}
	}
	if _, err := sandbox.New(set("withdrawal_flow", "A>B>C>B"), set("withdrawal_pace", "A>B=1s,B>C=1s,C>B=1s")); err == nil || !strings.Contains(err.Error(), "back") {
		t.Errorf("a pace that never ends: %v", err)
	}
	for name, value := range map[string]string{"rate_Btc": "999999999.999999999", "rebate_percent": "100", "withdrawal_flow": "Only", "time_layout": "2006-01-02T15:04:05.000Z07:00"} {
		if _, err := sandbox.New(set(name, value)); err != nil {
			t.Error(err)
		}
	}
}

func TestKeys(t *testing.T) {
	first, second := newBox(t), newBox(t)
	if !strings.HasPrefix(first.Key(), sandbox.KeyPrefix) || first.Key() == second.Key() {
		t.Errorf("keys %q and %q", first.Key(), second.Key())
	}
	b := newBox(t, sandbox.WithKey("till_sandbox_mine"))
	same(t, b.ok(b.sendAs("till_sandbox_mine", "GET", "/api/invites", "")), `[]`)
	for _, key := range []string{"", "mine", "till_sandbox_", "till_sandbox_a b", "till_sandbox_é", "till_sandbox_a\n"} {
		if _, err := sandbox.New(sandbox.WithKey(key)); err == nil {
			t.Errorf("the key %q was taken", key)
		}
	}
	if _, err := sandbox.New(sandbox.WithSeed("lots")); err == nil || !strings.Contains(err.Error(), "lots") {
		t.Errorf("an unknown seed: %v", err)
	}
}
