package sandbox_test

import (
	"os"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// TestSettingsAreDocumented checks that each setting says what it does, and that the package documentation
// says when each error comes.
func TestSettingsAreDocumented(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	must(t, err)
	_, table, _ := strings.Cut(string(source), "//\tREASON               WHEN\n//\n")
	documented := map[string]bool{}
	for line := range strings.Lines(table) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "//" {
			documented[words[1]] = true
		}
	}
	seen := map[string]bool{}
	for _, s := range sandbox.Settings() {
		failIf(t, s.Meaning == "" || s.Values == "" || seen[s.Name], "setting %+v is incomplete, or there twice", s)
		seen[s.Name] = true
		if s.Name != "errors" {
			continue
		}
		for entry := range strings.SplitSeq(s.Default, ",") {
			reason, _, _ := strings.Cut(entry, "=")
			failIf(t, !documented[reason], "the package documentation does not explain %s", reason)
			delete(documented, reason)
		}
	}
	failIf(t, len(documented) > 0, "the package documentation explains what does not exist: %v", documented)
}

func TestSettingsRefused(t *testing.T) {
	for name, values := range map[string][]string{
		"": {""}, "first-page": {"1"}, "first_page": {"", "2", "-1", "01"}, "default_page_size": {"0", "1001"},
		"max_page_size": {"5"}, "list_order": {"Newest", ""},
		"time_layout":     {"", "2006-01-02", "rfc3339", "2006-01-02 03:04:05"},
		"withdrawal_flow": {"", "A>", "A>B*>C", "A*", "A b>C"},
		"withdrawal_pace": {"", "New>Processing", "New=30s", "New>Completed=30s", "New>Processing=0s", "New>Processing=1.5s",
			"New>Processing=-1s", "New>Processing=30", "New>Processing=30s,New>Cancelled=1m", "New>Processing=30s,",
			"New>Processing=36501d"},
		"invoice_expiry": {"", "0s", "never,1h", "-1d", "90"}, "invoice_statuses": {"A,B", "A,A,B"},
		"invoice_states": {"A,,B"}, "rebate_percent": {"-1", "100.0001", "1.00001", "1,5", "1e1", "1.", ".5"},
		"callback_on_create": {"maybe"}, "callback_attempts": {"0", "51"}, "callback_targets": {"all"},
		"callback_backoff": {"0s", "61m", "2"}, "callback_timeout": {"-1s", "2m"},
		"rates":    {"Btc=0", "Btc=-1", "Btc=1000000000", "Btc=0.0000000001", "Doge=1", "Btc", "", "Btc=1,"},
		"rate_Btc": {"1"}, "fiat_currency": {"Btc"},
		"errors":     {"not_found=404", "not_found=200:1", "not_found=404:x"},
		"currencies": {"", "Btc,Btc", "USD", "Btc, Eth"}, "paid_in": {"USD", ""}, "invite_label": {" "},
		"max_items": {"0", "all"}, "min_items": {"2"}, "max_amount": {"9223372036854775808", "0"},
	} {
		for _, value := range values {
			_, err := sandbox.New(set(name, value))
			failIf(t, err == nil || !strings.Contains(err.Error(), name), "%s=%q: %v", name, value, err)
		}
	}
	if _, err := sandbox.New(set("withdrawal_flow", "A>B>C>B"),
		set("withdrawal_pace", "A>B=1s,B>C=1s,C>B=1s")); err == nil || !strings.Contains(err.Error(), "back") {
		t.Errorf("a pace that never ends: %v", err)
	}
	says(t, second(sandbox.New(set("min_amount", "10"), set("max_amount", "9"))), "max_amount")
	for name, value := range map[string]string{"rates": "Btc=999999999.999999999", "rebate_percent": "100",
		"withdrawal_flow": "Only", "time_layout": "2006-01-02T15:04:05.000Z07:00"} {
		if _, err := sandbox.New(set(name, value)); err != nil {
			t.Error(err)
		}
	}
}

func TestKeys(t *testing.T) {
	one, other := newBox(t), newBox(t)
	failIf(t, !strings.HasPrefix(one.Key(), sandbox.KeyPrefix) || one.Key() == other.Key(),
		"keys %q and %q", one.Key(), other.Key())
	b := newBox(t, sandbox.WithKey("till_sandbox_mine"))
	same(t, b.ok(b.sendAs("till_sandbox_mine", "GET", "/api/invites", "")), `[]`)
	for _, key := range []string{"", "mine", "till_sandbox_", "till_sandbox_a b", "till_sandbox_é",
		"till_sandbox_a\n"} {
		_, err := sandbox.New(sandbox.WithKey(key))
		failIf(t, err == nil, "the key %q was taken", key)
	}
	says(t, second(sandbox.New(sandbox.WithSeed("lots"))), "lots")
}
