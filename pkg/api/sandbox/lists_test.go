package sandbox_test

import (
	"fmt"
	"testing"
	"time"
)

const listPath = "/api/merchant_withdrawal/list"

const everything = `{"currencies":[],"tags":[]}`

// orders returns the order ids on a page, first to last.
func orders(t testing.TB, page any) string {
	t.Helper()
	text := ""
	for _, item := range at(t, page, "page_content").([]any) {
		text += at(t, item, "external_order_id").(string)
	}
	return text
}

// fill makes n withdrawals with the order ids 1 to n, a minute apart: odd ones in Btc, even ones in Ltc.
func fill(b box, n int) (ids []string) {
	b.t.Helper()
	for i := 1; i <= n; i++ {
		*b.now = start.Add(time.Duration(i) * time.Minute)
		code := []string{"Ltc", "Btc"}[i%2]
		ids = append(ids, b.create(createPath, fmt.Sprintf(
			`{"currency":{"Crypto":%[1]q},"amount":{"Crypto":{%[1]q:10}},"address":"a","external_order_id":"%[2]d"}`,
			code, i)))
	}
	return ids
}

func TestPages(t *testing.T) {
	type page struct{ base, order, number, want string }
	for _, test := range []page{
		{"1", "newest", "1", "765"}, {"1", "newest", "2", "432"}, {"1", "newest", "3", "1"},
		{"0", "newest", "0", "765"}, {"0", "newest", "1", "432"}, {"0", "newest", "2", "1"},
		{"1", "oldest", "1", "123"}, {"1", "oldest", "3", "7"},
		{"0", "oldest", "0", "123"}, {"0", "oldest", "2", "7"},
		// Pages that do not exist.
		{"1", "newest", "0", ""}, {"1", "newest", "4", ""}, {"0", "newest", "3", ""},
		{"1", "newest", "9223372036854775807", ""},
	} {
		b := newBox(t, set("first_page", test.base), set("list_order", test.order))
		fill(b, 7)
		got := b.post(listPath+"?page_size=3&page="+test.number, everything)
		failIf(t, orders(t, got) != test.want, "%+v: got %q", test, orders(t, got))
		same(t, at(t, got, "total"), "7")
		same(t, at(t, got, "page_count"), "3")
	}
}

func TestPageOutOfRange(t *testing.T) {
	for _, base := range []string{"0", "1"} {
		beyond := map[string]string{"0": "3", "1": "4"}[base]
		b := newBox(t, set("first_page", base), set("page_out_of_range", "reject"))
		b.refused(b.send("POST", listPath+"?page="+beyond, everything), 400, "page_out_of_range", beyond)
		b.post(listPath+"?page="+base, everything) // an empty list has a first page

		b = newBox(t, set("first_page", base), set("page_out_of_range", "clamp"))
		fill(b, 7)
		equal(t, orders(t, b.post(listPath+"?page_size=3&page="+beyond, everything)), "1", "base %s: clamped to", base)
	}
	b := newBox(t, set("page_out_of_range", "clamp"))
	fill(b, 3)
	equal(t, orders(t, b.post(listPath+"?page_size=2&page=0", everything)), "32", "the page instead of page 0")
}

func TestPageSizes(t *testing.T) {
	b := newBox(t, set("default_page_size", "2"), set("max_page_size", "4"))
	fill(b, 5)
	equal(t, orders(t, b.post(listPath, everything)), "54", "the default page is")
	b.refused(b.send("POST", listPath+"?page_size=5", everything), 400, "invalid_query", "page_size", "4")
	for _, bad := range []string{"page_size=0", "page_size=-1", "page_size=x", "page_size=", "page=-1", "page=1.0",
		"page=01", "page=1&page=2", "size=3"} {
		b.refused(b.send("POST", listPath+"?"+bad, everything), 400, "invalid_query")
	}
	b = newBox(t, set("default_page_size", "2"), set("max_page_size", "4"), set("page_size_too_large", "clamp"))
	fill(b, 5)
	got := b.post(listPath+"?page_size=5", everything)
	failIf(t, orders(t, got) != "5432", "the clamped page is %q", orders(t, got))
	same(t, at(t, got, "page_count"), "2")
}

func TestFilters(t *testing.T) {
	b := newBox(t)
	ids := fill(b, 6) // 10:01 to 10:06
	for _, id := range ids[:2] {
		must(t, b.AdvanceWithdrawal(id, "Processing"))
	}
	for _, test := range []struct{ filter, want string }{
		{everything, "654321"},
		{`{"currencies":[{"Crypto":"Btc"}],"tags":[]}`, "531"},
		{`{"currencies":[{"Crypto":"Btc"},{"Crypto":"Ltc"}],"tags":[]}`, "654321"},
		{`{"currencies":[{"Fiat":"Usd"}],"tags":[]}`, ""},
		{`{"currencies":[],"tags":["Processing"]}`, "21"},
		{`{"currencies":[],"tags":["New"]}`, "6543"},
		{`{"currencies":[{"Crypto":"Btc"}],"tags":["Processing"]}`, "1"},
		{`{"currencies":[],"tags":[],"from":"2026-05-03T10:04:00"}`, "654"},
		{`{"currencies":[],"tags":[],"to":"2026-05-03T10:04:00"}`, "4321"},
		{`{"currencies":[],"tags":[],"from":"2026-05-03T10:04:00","to":"2026-05-03T10:04:00"}`, "4"},
		{`{"currencies":[],"tags":[],"from":"2026-05-03T12:04:00+02:00","to":"2026-05-03T10:05:00Z"}`, "54"},
		{`{"currencies":[],"tags":[],"from":"2026-05-03T10:04:01","to":"2026-05-03T10:04:59"}`, ""},
		{`{"currencies":[{"Crypto":"Btc"}],"tags":["New"],"from":"2026-05-03T10:04:00","to":null}`, "5"},
	} {
		got := b.post(listPath, test.filter)
		failIf(t, orders(t, got) != test.want, "%s: got %q, want %q", test.filter, orders(t, got), test.want)
		same(t, at(t, got, "total"), fmt.Sprint(len(test.want)))
	}
}

func TestFilterSettings(t *testing.T) {
	b := newBox(t, set("tags_match", "history"), set("period_end", "exclusive"), set("filter_times", "layout"),
		set("time_layout", "02.01.2006 15:04:05"))
	ids := fill(b, 3)
	must(t, b.AdvanceWithdrawal(ids[0], "Processing"))
	equal(t, orders(t, b.post(listPath, `{"currencies":[],"tags":["New"]}`)), "321", "the orders by history")
	got := b.post(listPath, `{"currencies":[],"tags":[],"to":"03.05.2026 10:03:00"}`)
	failIf(t, orders(t, got) != "21", "to is not exclusive: %q", orders(t, got))
	same(t, at(t, got, "page_content", 0, "statuses", 0, "at"), `"03.05.2026 10:02:00"`)
	b.refused(b.send("POST", listPath, `{"currencies":[],"tags":[],"to":"2026-05-03T10:03:00Z"}`), 400,
		"invalid_body", "to")
}

func TestFilterRefused(t *testing.T) {
	b := newBox(t)
	for body, names := range map[string]string{
		`{}`: "currencies", `{"currencies":[]}`: "tags", `{"tags":[]}`: "currencies",
		`{"currencies":{},"tags":[]}`: "currencies", `{"currencies":["Btc"],"tags":[]}`: "currencies[0]",
		`{"currencies":[],"tags":["Unheard"]}`: "Unheard", `{"currencies":[],"tags":[],"from":5}`: "from",
		`{"currencies":[],"tags":[],"from":"today"}`: "from", `{"currencies":[],"tags":[],"to":""}`: "to",
		`{"currencies":[],"tags":[],"page":1}`:                                                "page",
		`{"currencies":[],"tags":[],"from":"2026-05-04T00:00:00","to":"2026-05-03T00:00:00"}`: "from",
	} {
		b.refused(b.send("POST", listPath, body), 400, "invalid_body", names)
	}
	b.refused(b.send("POST", listPath, `{"currencies":[{"Crypto":"Doge"}],"tags":[]}`), 400, "unknown_currency", "Doge")
}

// TestListAfterClockSetBack checks that lists are in order of creation even if the clock was set back.
func TestListAfterClockSetBack(t *testing.T) {
	b := newBox(t)
	for i, minute := range []time.Duration{5, 9, 7, 7, 1} {
		*b.now = start.Add(minute * time.Minute)
		b.create(createPath, fmt.Sprintf(`{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":10}},"address":"a",`+
			`"external_order_id":"%d"}`, i))
	}
	equal(t, orders(t, b.post(listPath, everything)), "13204", "the orders, newest first")
	if got := orders(t, b.post(listPath, `{"currencies":[],"tags":[],"from":"2026-05-03T10:05:00",`+
		`"to":"2026-05-03T10:07:00"}`)); got != "320" {
		t.Errorf("got %q, want 320", got)
	}
}

// TestShownTimesFilter checks that a time from an answer, sent as a filter, finds its record.
func TestShownTimesFilter(t *testing.T) {
	b := newBox(t)
	*b.now = start.Add(700 * time.Millisecond)
	shown := at(t, b.get(getPath+b.create(createPath, btcBody)), "statuses", 0, "at").(string)
	got := b.post(listPath, fmt.Sprintf(`{"currencies":[],"tags":[],"from":%[1]q,"to":%[1]q}`, shown))
	same(t, at(t, got, "total"), "1")
}
