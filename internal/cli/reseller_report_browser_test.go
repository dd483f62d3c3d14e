//go:build unix

package cli

import (
	"fmt"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/till/e2e/chromium"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api/sandbox"
)

// reportReseller is a reseller of reportService, with the records of its invoices.
type reportReseller struct {
	label   string
	records []string
}

// add adds an invoice that was made on a day, such as 05-03, of 2026.
func (r *reportReseller) add(code string, paid, rebate int64, day string) {
	r.records = append(r.records, fmt.Sprintf(`"%08x-0000-4000-8000-%012[1]x":{"id":"%08[1]x-0000-4000-8000-%012[1]x",`+
		`"paid_amount":{%[2]q:%[3]d},"rebate":{%[2]q:%[4]d},"created":"2026-%[5]sT10:00:00"}`,
		len(r.records), code, paid, rebate, day))
}

// reportService serves the list of some resellers, and the stats of each.
func reportService(resellers ...reportReseller) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var list []string
		for i, reseller := range resellers {
			id, label := fmt.Sprintf("%08x-7425-40de-944b-e07fc1f90ae7", 0x7c9e6679+0x1010101*i), render.Encode(reseller.label)
			if r.URL.Query().Get("id") == id {
				fmt.Fprintf(w, `{"id":%q,"label":%s,"invoice_stats":{"<img src=x onerror=alert(1)>":1},"invoice_rebates":{%s},`+
					`"total_volume":{"EUR":{"EUR":5}},"total_rebates":{}}`, id, label, strings.Join(reseller.records, ","))
				return
			}
			list = append(list, fmt.Sprintf(`"%s":{"id":"%[1]s","invite_info":{"invite":"%[1]s","label":%s},"rebates":{}}`,
				id, label))
		}
		fmt.Fprintf(w, "{%s}", strings.Join(list, ","))
	}
}

// hostileService has two resellers whose labels, codes and statuses try to break out of a page, or to make it
// wider than any screen.
func hostileService() http.HandlerFunc {
	hostile := reportReseller{label: `</title></style></svg><script>alert(1)</script><img src=x onerror=alert(2)>"' ` +
		`style="position:fixed" {{.}}` + "\u202e\x1b[2J"}
	wide := reportReseller{label: strings.Repeat("Unbroken", 60)}
	for day, r := range map[string]*reportReseller{"05-03": &hostile, "05-04": &wide} {
		r.add("EUR", math.MaxInt64, math.MaxInt64, day)
		r.add("<script>document.title=1</script>", 7, 7, day)
	}
	return reportService(hostile, wide)
}

// TestReportInBrowser checks the page and the picture on every screen and on paper: nothing is wider than the
// screen, no policy is violated, and labels of resellers stay text.
func TestReportInBrowser(t *testing.T) {
	const policy = `meta[http-equiv="Content-Security-Policy"][content^="default-src 'none'; base-uri 'none'; ` +
		`form-action 'none'; style-src 'sha256-"]`
	b := chromium.Start(t)
	demo, err := sandbox.New(sandbox.WithSeed("demo"))
	must(t, err)
	t.Cleanup(func() { demo.Close() })
	for _, page := range []struct {
		name    string
		service http.Handler
		key     string
		args    []string
		exit    int
		tables  int // one for each currency, and those of all time
	}{
		{"demo", demo, demo.Key(), nil, 0, 7},
		{"compared", demo, demo.Key(), []string{"--from", "30d", "--compare", "--by", "reseller", "--by", "month"}, 0, 7},
		{"hostile", hostileService(), "any", []string{"--from", "2026-05", "--to", "2026-05", "--compare"}, 0, 4},
		{"failed", demo, demo.Key(),
			[]string{"Kiosk am Eck", "Harbour Books", "9c9e6679-7425-40de-944b-e07fc1f90ae7"}, 50, 4},
		{"nothing", demo, demo.Key(), []string{"--from", "2999-01", "--to", "2999-01", "--by", "day"}, 0, 1},
	} {
		service := httptest.NewServer(page.service)
		defer service.Close()
		html, svg := filepath.Join(t.TempDir(), "page.html"), filepath.Join(t.TempDir(), "picture.svg")
		cmd := exec.Command("till", append([]string{"reseller", "report", "--html", html, "--svg", svg}, page.args...)...)
		cmd.Env = []string{"HOME=" + t.TempDir(), "TILL_BASE_URL=" + service.URL, "TILL_API_KEY=" + page.key,
			"GORACE=atexit_sleep_ms=0"}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != page.exit {
			t.Fatalf("%s: it ended with %d: %s", page.name, got, out)
		}
		for _, look := range append(chromium.Looks(), chromium.Screen(1920, 1080, "dark"),
			chromium.Screen(688, 1000, "print")) {
			b.Use(look)
			b.Open("file://" + html)
			b.Accessible()
			// It has amounts of 19 digits, and a browser scales such a page.
			paper := look.Scheme == "print" && page.name == "hostile"
			if got := b.ContentWidth(); got > look.Width && !paper {
				t.Errorf("%s, %s: it is %d wide", page.name, look, got)
			}
			if chromium.Dark(b.Picture("report-"+page.name+"-"+look.String())) != (look.Scheme == "dark") {
				t.Errorf("%s, %s: its ground is of the other kind", page.name, look)
			}
			for selector, want := range map[string]int{"script": 0, "img": 0, "b": 0, "[style]": 0, "[onerror]": 0, "link": 0,
				"style": 1, policy: 1, "table.data": page.tables, ".alert": page.exit / 50} {
				if got := b.Count(selector); got != want {
					t.Errorf("%s, %s: there are %d elements %q, not %d", page.name, look, got, selector, want)
				}
			}
			b.Quiet()
		}
		for _, look := range []chromium.Look{chromium.Screen(1000, 60, "light"), chromium.Screen(1000, 60, "dark")} {
			b.Use(look)
			b.Open("file://" + svg)
			if chromium.Dark(b.Picture("picture-"+page.name+"-"+look.String())) != (look.Scheme == "dark") {
				t.Errorf("%s, %s: the picture's ground is of the other kind", page.name, look)
			}
			for selector, want := range map[string]int{"script": 0, "img": 0, "parsererror": 0, "svg > title": 1,
				"svg > desc": 1, "style": 1} {
				if got := b.Count(selector); got != want {
					t.Errorf("%s, %s: there are %d elements %q, not %d", page.name, look, got, selector, want)
				}
			}
			b.Quiet()
		}
	}
}

// largeService has 120 resellers, each with four invoices in each of nine currencies. Some rebates are below
// zero, and one is far ahead of all others. It also returns the sums of the rebates in May.
func largeService() (service http.HandlerFunc, sums map[string]int) {
	resellers := make([]reportReseller, 120)
	labels := []string{
		"Harbour Books", "Harbour Books", "", strings.Repeat("The longest name of a shop ", 4) + "in the whole street",
		"東京書店 渋谷", "متجر الكتب في القاهرة", "ร้านหนังสือริมน้ำ", "Café Olé 👩\u200d🍳 ☕", "Zoë & Søn <Bøger>",
	}
	sums = map[string]int{}
	for i := range resellers {
		resellers[i].label = fmt.Sprint("Station Kiosk ", i)
		if i < len(labels) {
			resellers[i].label = labels[i]
		}
		for n, code := range strings.Fields("Btc CHF EUR GBP JPY PLN SEK USD Xyz") {
			for invoice := range 4 {
				month := 4 + min(invoice, 1)
				rebate := 10 + (i*7919+n*31337+invoice*10007)%90_000
				switch {
				case i%17 == 5 && invoice == 1:
					rebate *= -3
				case i == 0 && code == "USD":
					rebate *= 40
				}
				if month == 5 {
					sums[code] += rebate
				}
				resellers[i].add(code, 9_000_000, int64(rebate), fmt.Sprintf("%02d-%02d", month, 1+(i*5+n*3+invoice*11)%30))
			}
		}
	}
	return reportService(resellers...), sums
}

// TestLargeReportInBrowser prints a report of 120 resellers in nine currencies, and reads what is on paper.
// On a phone, no figure is cut off, and the rebate is next to the label.
func TestLargeReportInBrowser(t *testing.T) {
	b := chromium.Start(t)
	handler, sums := largeService()
	service := httptest.NewServer(handler)
	defer service.Close()
	home := t.TempDir()
	html, config := filepath.Join(home, "page.html"), filepath.Join(home, "till", "config.yaml")
	writeFile(t, config, "current: live\nprofiles:\n  live: {base_url: '"+service.URL+
		"', account: acme, currencies: [{code: Btc, kind: crypto, decimals: 8}]}\n")
	cmd := exec.Command("till", "reseller", "report", "--from", "2026-05", "--to", "2026-05", "--compare", "--html",
		html, "-q")
	cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "TILL_API_KEY=any", "GORACE=atexit_sleep_ms=0"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	const title = "Rebates of acme, May 2026"
	const room = 718 // the width of A4 without the margins
	b.Use(chromium.Screen(room, 1000, "print"))
	b.Open("file://" + html)
	if got := b.ContentWidth(); got > room {
		t.Errorf("it is %d wide, and a browser shrinks such a page", got)
	}
	var smallest float64
	b.Evaluate(`Math.min(...[...document.querySelectorAll(".n, .tiles a *, .line div, .ends")].map(e => `+
		`parseFloat(getComputedStyle(e).fontSize)))`, &smallest)
	if points := smallest * 72 / 96; points < 8 {
		t.Errorf("the smallest figures have %.2f points", points)
	}
	sheets := b.PDF("report-large")
	if len(sheets) > 16 {
		t.Errorf("it is printed on %d sheets", len(sheets))
	}
	for i, sheet := range sheets {
		if number := fmt.Sprintf("%d / %d", i+1, len(sheets)); !strings.HasSuffix(strings.TrimSpace(sheet), number) {
			t.Errorf("sheet %d does not end with its number: %.500s", i+1, sheet)
		}
		if n := strings.Count(sheet, title); n != 1 {
			t.Errorf("sheet %d has the title %d times: %.500s", i+1, n, sheet)
		}
	}
	text := strings.Join(sheets, "")
	if first, _, _ := strings.Cut(text, "\n"); first != title {
		t.Errorf("it begins with %q", first)
	}
	decimals := map[string]int{"Btc": 8, "JPY": 0, "Xyz": 0}
	for code, sum := range sums {
		places, known := decimals[code]
		if !known {
			places = 2
		}
		total := money.Decimal(big.NewInt(int64(sum)), places)
		whole, _, _ := strings.Cut(total, ".")
		for at := len(whole) - 3; at > 0; at -= 3 {
			total = total[:at] + " " + total[at:]
		}
		if got := strings.Count(text, total); got != 1 {
			t.Errorf("the total %s %s is there %d times", total, code, got)
		}
	}
	if strings.Contains(text, "All time") || strings.Contains(text, "7425-40de") {
		t.Error("figures of all time, or whole ids, are printed")
	}

	phone := chromium.Screen(390, 844, "light")
	b.Use(phone)
	b.Open("file://" + html)
	if got := b.ContentWidth(); got > phone.Width {
		t.Errorf("%s: it is %d wide", phone, got)
	}
	var hidden float64 // how much of the tables is beyond their edge
	b.Evaluate(`Math.max(...[...document.querySelectorAll(".main .wide")].map(e => e.scrollWidth - e.clientWidth))`, &hidden)
	if hidden != 0 {
		t.Errorf("%v of a table is cut off", hidden)
	}
	var second string
	b.Evaluate(`document.querySelector(".data thead th:nth-child(2)").textContent`, &second)
	if second != "Rebates" {
		t.Errorf("next to the label is %s", second)
	}
	b.Quiet()
}
