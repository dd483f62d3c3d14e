package sandbox_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestSettingsAreDocumented checks that each setting says what it does, and that a test changes it, and that the
// package documentation says when each error comes.
func TestSettingsAreDocumented(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	must(t, err)
	_, table, _ := strings.Cut(string(source), "//\tREASON               WHEN\n//\n")
	var documented, reasons []string
	for line := range strings.Lines(table) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "//" {
			documented = append(documented, words[1])
		}
	}
	tests, err := exec.Command("sh", "-c", "cat *_test.go ../*_test.go ../../../internal/cli/testdata/script/*").Output()
	must(t, err)
	seen := map[string]bool{}
	for _, s := range sandbox.Settings() {
		changed := regexp.MustCompile(`\b` + s.Name + `(=|":|",|"\])`).Match(tests)
		failIf(t, !changed && s.Name != "errors", "no test changes the setting %s", s.Name)
		failIf(t, s.Meaning == "" || s.Values == "" || seen[s.Name], "setting %+v is incomplete, or there twice", s)
		seen[s.Name] = true
		if s.Name == "errors" {
			reasons = regexp.MustCompile(`=[0-9:]+,?`).Split(s.Default, -1)
		}
	}
	sameNames(t, "reasons", documented, reasons[:len(reasons)-1])
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

// TestSet checks that settings change while the sandbox runs, each part of the sandbox included, and that
// earlier changes stay.
func TestSet(t *testing.T) {
	b := newBox(t)
	id := b.create(createPath, btcBody)
	b.set(map[string]string{"first_page": "0", "errors": "invalid_query=418:7"})
	b.refused(b.send("GET", "/api/invites?x=1", ""), 418, "invalid_query")
	b.set(map[string]string{"withdrawal_flow": "New>Done"})
	b.mustAdvance(id, "Done")
	b.refused(b.send("GET", "/api/invites?x=1", ""), 418, "invalid_query")
	answer := b.post("/sandbox/settings", `{"due_date_text":"","max_text":"10"}`)
	for name, want := range map[string]string{"due_date_text": "", "first_page": "0", "list_order": "newest",
		"withdrawal_flow": "New>Done"} {
		equal(t, at(t, answer, name).(string), want, "%s", name)
	}
	equal(t, len(answer.(map[string]any)), len(sandbox.Settings()), "settings shown")
}

func (b box) set(values map[string]string) {
	b.t.Helper()
	must(b.t, b.Server.Set(values))
}

// TestSetPace checks that what exists already moves by a new pace and a new expiry, at once where it is due.
func TestSetPace(t *testing.T) {
	b := newBox(t)
	old := b.create(createPath, btcBody)
	invoice := b.create("/api/invoice", `{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x","amount":"100"}]}`)
	*b.now = b.now.Add(time.Minute)
	young := b.create(createPath, btcBody)
	b.set(map[string]string{"withdrawal_pace": "New>Processing=30s,Processing>Completed=1h", "invoice_expiry": "40s"})
	status := func(id string) string { return at(t, b.get("/api/merchant_withdrawal?id="+id), "current").(string) }
	if status(old) != "Processing" || status(young) != "New" ||
		at(t, b.get("/api/invoice?id="+invoice), "status") != "Expired" {
		t.Errorf("the old one is %s, the young one %s", status(old), status(young))
	}
	if err := b.AdvanceClock(30 * time.Second); err != nil || status(young) != "Processing" {
		t.Errorf("later, the young one is %s, %v", status(young), err)
	}
	b.set(map[string]string{"withdrawal_pace": "none"})
	if err := b.AdvanceClock(2 * time.Hour); err != nil || status(old) != "Processing" {
		t.Errorf("without a pace, the old one is %s, %v", status(old), err)
	}
}

// TestSetSparesRequestsInFlight checks that a request whose body is still coming when settings change is
// answered by those that it began with, as a whole.
func TestSetSparesRequestsInFlight(t *testing.T) {
	b := newBox(t, set("max_page_size", "2"), set("default_page_size", "2"))
	for range 5 {
		b.create(createPath, btcBody)
	}
	all := at(t, b.post(listPath, everything), "page_content")
	change := readerFunc(func([]byte) (int, error) {
		b.set(map[string]string{"first_page": "0", "list_order": "oldest", "tags_match": "history"})
		return 0, io.EOF
	})
	// The log reads the beginning ahead.
	body := io.MultiReader(strings.NewReader(everything+strings.Repeat(" ", 70_000)), change)
	r := request(b.Key(), "POST", listPath, body)
	r.ContentLength = -1
	if got := at(t, b.ok(b.do(r)), "page_content"); !reflect.DeepEqual(got, all) {
		t.Errorf("it has a page of other settings: %v, want %v", got, all)
	}
	if got := at(t, b.post(listPath, everything), "page_content"); reflect.DeepEqual(got, all) {
		t.Error("the settings did not change")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestResetGoesBackToTheStart checks everything that a reset brings back, and that a bad one changes nothing.
func TestResetGoesBackToTheStart(t *testing.T) {
	seed := []byte(`{"balances":["7.00 Usd"],"resellers":[{"label":"Shop"}],"clock_ahead_seconds":60}`)
	b := newBox(t, sandbox.WithSeedJSON(seed), set("first_page", "0"), set("requests_per_second", "3"))
	copy(seed, "spoilt") // it was read at the start
	state := func() string {
		t.Helper()
		return fmt.Sprint(b.counters(), len(b.Requests()), b.Balance("Usd"), b.Now().Sub(start),
			at(t, b.get("/sandbox/settings"), "first_page"), at(t, b.get("/sandbox/settings"), "list_order"))
	}
	began, at0 := b.Identity(), state()
	b.set(map[string]string{"first_page": "1", "list_order": "oldest", "callback_on_create": "yes"})
	must(t, b.AdvanceClock(time.Hour))
	must(t, b.Fund("Usd", 100))
	b.fault(sandbox.Fault{Do: "status=418"})
	for range 3 {
		equal(t, b.send("GET", "/api/invites", "").Code, 418, "the status")
	}
	spoilt := state()
	equal(t, spoilt, "[status=418:3/3] 3 800 1h1m0s1oldest", "the state")
	for _, body := range []string{`{"seed":"demos"}`, `{"sed":"demo"}`} {
		b.refused(b.send("POST", "/sandbox/reset", body), 400, "invalid_body")
	}
	b.refused(b.send("POST", "/sandbox/restore", `{"balances":["x"]}`), 400, "invalid_body")
	equal(t, b.Identity()+state(), began+spoilt, "after a bad reset, the state")
	b.post("/sandbox/reset", `{}`)
	equal(t, state(), at0, "after a reset, the state")
	failIf(t, b.Identity() == began, "it has the same identity")
	for range 2 { // the limit of the start, 3, counts anew, too
		b.get("/api/resellers/ids")
	}
	must(t, b.Fund("Btc", 1500))
	b.withCallback("http://127.0.0.1:9/")
	equal(t, len(b.Deliveries()), 0, "deliveries by a setting from before the reset")
}
