package sandbox_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

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

// TestSetRefuses checks that a wrong setting changes none. The script sandbox_settings_set has more of them.
func TestSetRefuses(t *testing.T) {
	b := newBox(t)
	before := b.send("GET", "/sandbox/settings", "").Body.String()
	for body, names := range map[string]string{
		`{"first_page":"0","zzz":"1"}`: `there is no setting "zzz"`, `{"first_page":0}`: "must be a string",
		`["first_page"]`: "must be an object", `{"withdrawal_pace":"New>Gone=1m"}`: "no step",
	} {
		b.refused(b.send("POST", "/sandbox/settings", body), 400, "invalid_body", names)
	}
	equal(t, b.send("GET", "/sandbox/settings", "").Body.String(), before, "the settings")
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
	r := httptest.NewRequest("POST", "http://sandbox.localhost"+listPath, body)
	r.ContentLength = -1
	r.Header.Set("Authorization", "Bearer "+b.Key())
	w := b.do(r)
	if got := at(t, b.ok(w), "page_content"); !reflect.DeepEqual(got, all) {
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
