//go:build unix

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/till/e2e/chromium"
	"example.com/till/internal/render"
	"example.com/till/pkg/api/sandbox"
)

// hostileService has two resellers whose labels, codes and statuses try to break out of a page, or to make it
// wider than any screen.
func hostileService(w http.ResponseWriter, r *http.Request) {
	const (
		first  = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
		second = "8c9e6679-7425-40de-944b-e07fc1f90ae7"
		record = `{"%s":{"id":"%[1]s","paid_amount":{"EUR":9223372036854775807},"rebate":{"EUR":9223372036854775807,"<script>document.title=1</script>":7},"created":"2026-05-%[2]s"}}`
	)
	stats := func(id, label, day string) {
		fmt.Fprintf(w, `{"id":%q,"label":%s,"invoice_stats":{"<img src=x onerror=alert(1)>":1},"invoice_rebates":%s,"total_volume":{"EUR":{"EUR":5}},"total_rebates":{}}`,
			id, render.Encode(label), fmt.Sprintf(record, id, day))
	}
	switch r.URL.Path + "?" + r.URL.RawQuery {
	case "/api/resellers?":
		reseller := `"%s":{"id":"%[1]s","invite_info":{"invite":"%[1]s","label":"x"},"rebates":{}}`
		fmt.Fprint(w, "{"+fmt.Sprintf(reseller, first)+","+fmt.Sprintf(reseller, second)+"}")
	case "/api/reseller/stats?id=" + first:
		stats(first, `</title></style></svg><script>alert(1)</script><img src=x onerror=alert(2)>"' style="position:fixed" {{.}}`+"\u202e\x1b[2J", "03T10:00:00")
	case "/api/reseller/stats?id=" + second:
		stats(second, strings.Repeat("Unbroken", 60), "04T10:00:00")
	default:
		http.NotFound(w, r)
	}
}

// TestReportInBrowser checks the page and the picture on every screen and on paper: nothing is wider than the
// screen, no policy is violated, and labels of resellers stay text.
func TestReportInBrowser(t *testing.T) {
	const policy = `meta[http-equiv="Content-Security-Policy"][content^="default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-"]`
	b := chromium.Start(t)
	demo, err := sandbox.New(sandbox.WithSeed("demo"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { demo.Close() })
	for _, page := range []struct {
		name    string
		service http.Handler
		key     string
		args    []string
		exit    int
		tables  int
	}{
		{"demo", demo, demo.Key(), nil, 0, 2},
		{"compared", demo, demo.Key(), []string{"--from", "30d", "--compare", "--by", "reseller", "--by", "month"}, 0, 2},
		{"hostile", http.HandlerFunc(hostileService), "any", []string{"--from", "2026-05", "--to", "2026-05", "--compare"}, 0, 3},
		{"failed", demo, demo.Key(), []string{"Kiosk am Eck", "Harbour Books", "9c9e6679-7425-40de-944b-e07fc1f90ae7"}, 50, 2},
		{"nothing", demo, demo.Key(), []string{"--from", "2999-01", "--by", "day"}, 0, 1},
	} {
		service := httptest.NewServer(page.service)
		defer service.Close()
		html, svg := filepath.Join(t.TempDir(), "page.html"), filepath.Join(t.TempDir(), "picture.svg")
		cmd := exec.Command("till", append([]string{"reseller", "report", "--html", html, "--svg", svg}, page.args...)...)
		cmd.Env = []string{"HOME=" + t.TempDir(), "TILL_BASE_URL=" + service.URL, "TILL_API_KEY=" + page.key, "GORACE=atexit_sleep_ms=0"}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != page.exit {
			t.Fatalf("%s: it ended with %d: %s", page.name, got, out)
		}
		for _, look := range append(chromium.Looks(), chromium.Screen(1920, 1080, "dark"), chromium.Screen(688, 1000, "print")) {
			b.Use(look)
			b.Open("file://" + html)
			// It has amounts of 19 digits, and a browser scales such a page.
			paper := look.Scheme == "print" && page.name == "hostile"
			if got := b.ContentWidth(); got > look.Width && !paper {
				t.Errorf("%s, %s: it is %d wide", page.name, look, got)
			}
			if chromium.Dark(b.Picture("report-"+page.name+"-"+look.String())) != (look.Scheme == "dark") {
				t.Errorf("%s, %s: its ground is of the other kind", page.name, look)
			}
			for selector, want := range map[string]int{"script": 0, "img": 0, "b": 0, "[style]": 0, "[onerror]": 0, "link": 0, "style": 1, policy: 1, "table.data": page.tables, ".alert": page.exit / 50} {
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
			for selector, want := range map[string]int{"script": 0, "img": 0, "parsererror": 0, "svg > title": 1, "svg > desc": 1, "style": 1} {
				if got := b.Count(selector); got != want {
					t.Errorf("%s, %s: there are %d elements %q, not %d", page.name, look, got, selector, want)
				}
			}
			b.Quiet()
		}
	}
}
