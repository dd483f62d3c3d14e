package sandbox_test

import (
	"fmt"
	"strings"
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

// TestPages checks the pages of seven withdrawals.
func TestPages(t *testing.T) {
	const sizes = "default_page_size=2; max_page_size=4"
	for _, c := range []struct{ settings, query, want string }{ // want are the order ids, or a refusal
		{"", "page_size=3", "765"}, {"", "page_size=3&page=1", "765"}, {"", "page_size=3&page=2", "432"},
		{"", "page_size=3&page=3", "1"}, {"", "page_size=3&page=0", ""}, {"", "page_size=3&page=4", ""},
		{"", "page_size=3&page=9223372036854775807", ""}, {"first_page=0", "page_size=3&page=0", "765"},
		{"first_page=0", "page_size=3&page=2", "1"}, {"first_page=0", "page_size=3&page=3", ""},
		{"list_order=oldest", "page_size=3", "123"}, {"list_order=oldest", "page_size=3&page=3", "7"},
		{"first_page=0; list_order=oldest", "page_size=3&page=2", "7"},
		{"page_out_of_range=reject", "page_size=3&page=4", "400 page_out_of_range 4"},
		{"first_page=0; page_out_of_range=reject", "page_size=3&page=3", "400 page_out_of_range 3"},
		{"page_out_of_range=clamp", "page_size=3&page=4", "1"}, {"page_out_of_range=clamp", "page_size=3&page=0", "765"},
		{"first_page=0; page_out_of_range=clamp", "page_size=3&page=3", "1"}, {sizes, "", "76"},
		{sizes, "page_size=5", "400 invalid_query page_size 4"}, {sizes + "; page_size_too_large=clamp", "page_size=5", "7654"},
		{"", "page_size=0", "400 invalid_query"}, {"", "page_size=-1", "400 invalid_query"},
		{"", "page_size=x", "400 invalid_query"}, {"", "page_size=", "400 invalid_query"}, {"", "page=-1", "400 invalid_query"},
		{"", "page=1.0", "400 invalid_query"}, {"", "page=01", "400 invalid_query"}, {"", "page=1&page=2", "400 invalid_query"},
		{"", "size=3", "400 invalid_query"},
	} {
		b := newBox(t, settings(c.settings)...)
		fill(b, 7)
		w := b.send("POST", listPath+"?"+c.query, everything)
		if strings.Contains(c.want, " ") {
			b.answers(w, "", c.want)
			continue
		}
		got := b.ok(w)
		equal(t, orders(t, got), c.want, "%s %s", c.settings, c.query)
		same(t, at(t, got, "total"), "7")
		if strings.HasPrefix(c.query, "page_size=3") {
			same(t, at(t, got, "page_count"), "3")
		}
	}
	newBox(t, set("page_out_of_range", "reject")).post(listPath+"?page=1", everything) // an empty list has a first page
}

func TestFilters(t *testing.T) {
	b := newBox(t)
	ids := fill(b, 6) // 10:01 to 10:06
	for _, id := range ids[:2] {
		must(t, b.AdvanceWithdrawal(id, "Processing"))
	}
	for _, test := range []struct{ currencies, tags, more, want string }{
		{"", "", "", "654321"}, {`{"Crypto":"Btc"}`, "", "", "531"}, {`{"Crypto":"Btc"},{"Crypto":"Ltc"}`, "", "", "654321"},
		{`{"Fiat":"Usd"}`, "", "", ""}, {"", `"Processing"`, "", "21"}, {"", `"New"`, "", "6543"},
		{`{"Crypto":"Btc"}`, `"Processing"`, "", "1"}, {"", "", `,"from":"2026-05-03T10:04:00"`, "654"},
		{"", "", `,"to":"2026-05-03T10:04:00"`, "4321"},
		{"", "", `,"from":"2026-05-03T10:04:00","to":"2026-05-03T10:04:00"`, "4"},
		{"", "", `,"from":"2026-05-03T12:04:00+02:00","to":"2026-05-03T10:05:00Z"`, "54"},
		{"", "", `,"from":"2026-05-03T10:04:01","to":"2026-05-03T10:04:59"`, ""},
		{`{"Crypto":"Btc"}`, `"New"`, `,"from":"2026-05-03T10:04:00","to":null`, "5"},
	} {
		got := b.post(listPath, fmt.Sprintf(`{"currencies":[%s],"tags":[%s]%s}`, test.currencies, test.tags, test.more))
		equal(t, orders(t, got), test.want, "%+v", test)
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

// TestListAfterClockSetBack checks that lists are in order of creation even if the clock was set back, and that a
// time from an answer, sent as a filter, finds its record.
func TestListAfterClockSetBack(t *testing.T) {
	b := newBox(t)
	for i, minute := range []time.Duration{5, 9, 7, 7, 1} {
		*b.now = start.Add(minute*time.Minute + 700*time.Millisecond)
		b.create(createPath, strings.Replace(btcBody, "{", fmt.Sprintf(`{"external_order_id":"%d",`, i), 1))
	}
	all := b.post(listPath, everything)
	equal(t, orders(t, all), "13204", "the orders, newest first")
	shown := at(t, all, "page_content", 0, "statuses", 0, "at").(string)
	for filter, want := range map[string]string{`"from":"2026-05-03T10:05:00","to":"2026-05-03T10:07:00"`: "320",
		fmt.Sprintf(`"from":%[1]q,"to":%[1]q`, shown): "1"} {
		equal(t, orders(t, b.post(listPath, `{"currencies":[],"tags":[],`+filter+`}`)), want, "%s: the orders", filter)
	}
}
