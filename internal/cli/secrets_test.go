//go:build unix

package cli

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

const echoedKey = `sk_live/Zq7+wT4uR9=mK2xV6pL8eH3yN5bJ0~dG1fC`

// startEcho serves a service that answers each request with the same bytes. A list has no withdrawals.
func startEcho(t *testing.T, answer string) (base string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		text := answer
		if strings.HasSuffix(r.URL.Path, "/list") {
			text = httpAnswer("200 OK", `{"page_content":[],"page_count":0,"total":0}`)
		}
		onConnection(func(conn net.Conn) { io.WriteString(conn, text) })(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func httpAnswer(status, body string, headers ...string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body),
		strings.Join(append(headers, ""), "\r\n"), body)
}

// TestErrorsHideTheKey checks that till does not show the key, in whatever form a proxy echoes it in an
// error: not on standard output or standard error, with or without --debug, not in the journal, and not in
// the results of a run.
func TestErrorsHideTheKey(t *testing.T) {
	const key = echoedKey
	in64 := base64.StdEncoding.EncodeToString([]byte("Bearer " + key))
	envelope := func(text string) string {
		return fmt.Sprintf(`{"error":{"code":7,"reason":"bad_key","description":"Bearer %s"}}`, text)
	}
	for name, answer := range map[string]string{
		"HTML with 200": httpAnswer("200 OK", "<html><h1>It works</h1><pre>Authorization: Bearer "+key+"</pre>"),
		"a 502 that is cut": httpAnswer("502 Bad Gateway",
			"<html><title>502</title><p>upstream said no to Bearer "+key),
		"a 502 in base64":         httpAnswer("502 Bad Gateway", "token "+in64),
		"a malformed status line": "HTTP/1.1 " + key + "\r\n\r\n",
		"the status line":         httpAnswer("403 Bearer "+key, ""),
		"Location":                httpAnswer("302 Found", "", "Location: /login?next="+url.QueryEscape(key)),
		"an envelope":             httpAnswer("400 Bad Request", envelope(strings.ReplaceAll(key, "/", `\/`))),
		"an envelope with a URL":  httpAnswer("422 Unprocessable", envelope(url.PathEscape(key))),
		"behind the first 4 KiB":  httpAnswer("200 OK", "<p>"+strings.Repeat("x", 4<<10-12)+key),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := docsEnv(t, "TILL_BASE_URL="+startEcho(t, answer), "TILL_API_KEY="+key, "TILL_LOOKUP=never", "TILL_RETRIES=0",
				"TILL_JOURNAL="+t.TempDir()+"/journal.db")
			f := execute(t, env, "sh", "-c", `
create="till withdraw create --currency Btc --amount-minor 5 --address bc1qexample --yes"
$create --order-id 1 || $create --order-id 2 --allow-duplicate -o json --debug
printf 'order_id,currency,amount_minor,address\n3,Btc,7,bc1qexample\n' >rows.csv
till payout plan rows.csv --out rows.plan
till payout apply rows.plan --yes --keep-going --results results.csv --debug
till journal export -o json
cat results.csv`)
			shown := f.out + f.err
			if !strings.Contains(f.err, "till: ") {
				t.Errorf("the create did not fail: %s", shown)
			}
			for _, part := range []string{"uR9", in64[12:24]} { // as it is and quoted for anything, or in base64
				if strings.Contains(shown, part) {
					t.Errorf("the key is shown:\n%s", shown)
				}
			}
			if !strings.Contains(strings.ReplaceAll(shown, " ", ""), `"reason":`) {
				t.Errorf("the journal has no reason:\n%s", shown)
			}
		})
	}
}
