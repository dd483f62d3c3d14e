package render

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A row of a plan with what money depends on, and notes in any script.
type planned struct {
	order, code, address, memo, note string
	amount                           Cell
}

var plan = View[planned]{Columns: []Column[planned]{
	{Name: "order_id", Cell: func(r planned) Cell { return Word(r.order) }},
	{Name: "currency", Whole: true, Cell: func(r planned) Cell { return Own(r.code) }},
	{Name: "amount", CodeIn: "currency", Cell: func(r planned) Cell { return r.amount }},
	{Name: "address", Whole: true, Cell: func(r planned) Cell { return Own(r.address) }},
	{Name: "memo", Whole: true, Cell: func(r planned) Cell { return Own(r.memo) }},
	{Name: "note", Cell: func(r planned) Cell { return Own(r.note) }},
}}

// rowsOfAPlan draws rows in nine currencies.
func rowsOfAPlan(t *rapid.T) []planned {
	var (
		codes     = []string{"Btc", "Eth", "Ltc", "Usd", "KWD", "JPY", "Xlr", "UsdtErc20", "UsdtTrc20"}
		decimals  = []int{8, 18, 8, 2, 3, 0, 7, 6, -1}
		addresses = []string{"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "0x52908400098527886E0F7030069857D2E4169EE7",
			"TJRabPrwbZy45sbavfcjinPJC18kjpRTv8", "DE89370400440532013000", "MT84MALT011000012345MTLCAST001S",
			"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"}
		notes = []string{"", "Harbour Books 409", "日本語のとても長いタイトル、한국어 제목", "العربية نص طويل جدا جدا",
			"👩‍👩‍👧 👍🏽 🇩🇪🇯🇵 a note of many words", "a\u202eb\x1b[2J", strings.Repeat("very long ", 30)}
	)
	rows := make([]planned, rapid.IntRange(1, 5).Draw(t, "rows"))
	for i := range rows {
		c := rapid.IntRange(0, len(codes)-1).Draw(t, "currency")
		rows[i] = planned{
			order: fmt.Sprint(rapid.Int64Range(1, 1<<53-1).Draw(t, "order")), code: codes[c],
			amount:  Amount(rapid.Int64Range(0, 1e15).Draw(t, "amount"), codes[c], decimals[c]),
			address: rapid.SampledFrom(addresses).Draw(t, "address"),
			memo:    rapid.StringMatching(`([0-9A-Za-z]{1,28})?`).Draw(t, "memo"),
			note:    rapid.SampledFrom(notes).Draw(t, "note"),
		}
	}
	return rows
}

// What money depends on is whole, and on one line, in a table of any width: amounts, codes, addresses, memos
// and order ids. No line is wider than the terminal.
func TestMoneyIsNeverCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rowsOfAPlan(t)
		for _, limit := range []int{60, 80, 100, 120} {
			var b strings.Builder
			if err := plan.List(&b, Options{Width: limit}, each(rows)); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(b.String(), "\n")
			for _, line := range lines {
				if width(line) > limit {
					t.Errorf("%d columns of %d in %q", width(line), limit, line)
				}
			}
			for _, r := range rows {
				number, _ := r.amount.amount()
				rest := lines
				for i, value := range []string{r.order, r.code, Group(number), r.address, r.memo} {
					at := 0
					for at < len(rest) && !hasValue(rest[at], value, i == 0) {
						at++
					}
					if at == len(rest) {
						t.Fatalf("%d columns: %q of order %s is not in\n%s", limit, value, r.order, b.String())
					}
					rest = rest[at:]
				}
			}
		}
	})
}

// hasValue reports whether a line has a value between blanks, first or anywhere.
func hasValue(line, value string, first bool) bool {
	if first {
		return strings.HasPrefix(line+" ", value+" ")
	}
	return strings.Contains(" "+line+" ", " "+value+" ")
}
