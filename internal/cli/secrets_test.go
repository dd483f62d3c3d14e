//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/till/internal/cmdutil"
)

const echoedKey = `sk_live/Zq7+wT4uR9=mK2xV6pL8eH3yN5bJ0~dG1fC`

// startEcho serves a service behind a proxy that answers each create, and each path outside the interface,
// with the same bytes. Any other request is for a list and gets no withdrawals.
func startEcho(t *testing.T, answer string) (base string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				io.Copy(io.Discard, r.Body)
				text := answer
				if strings.HasSuffix(r.URL.Path, "/list") {
					text = httpAnswer("200 OK", `{"page_content":[],"page_count":0,"total":0}`)
				}
				io.WriteString(conn, text)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

func httpAnswer(status, body string, headers ...string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body), strings.Join(append(headers, ""), "\r\n"), body)
}

var escapedCharacter = regexp.MustCompile(`(?i)\\u00([0-9a-f]{2})|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x([0-9a-f]{2});|&#([0-9]{2,3});`)

// pieceOfKey returns a part of the key that a text shows, at least eight characters, or "".
func pieceOfKey(text, key string) string {
	written := []string{strings.ToLower(key), hex.EncodeToString([]byte(key))}
	for before := range 3 {
		in64 := base64.RawStdEncoding.EncodeToString([]byte("xyz"[:before] + key))[(8*before+5)/6:]
		in64 = strings.ToLower(in64[:len(in64)-1])
		written = append(written, in64, strings.NewReplacer("+", "-", "/", "_").Replace(in64))
	}
	for range 3 {
		lower := strings.ToLower(text)
		for n, spelling := range written {
			size := 8
			if n == 1 {
				size = 16
			}
			for i := range len(spelling) - size + 1 {
				if strings.Contains(lower, spelling[i:i+size]) {
					return spelling[i : i+size]
				}
			}
		}
		text = escapedCharacter.ReplaceAllStringFunc(html.UnescapeString(text), func(escape string) string {
			parts := escapedCharacter.FindStringSubmatch(escape)
			base := 16
			if parts[5] != "" {
				base = 10
			}
			c, _ := strconv.ParseUint(strings.Join(parts[1:], ""), base, 8)
			return string(rune(c))
		})
		text = strings.NewReplacer(`\\`, `\`, `\/`, "/", `\"`, `"`, "\x00", "").Replace(text)
	}
	return ""
}

// TestEchoedKeyStaysInside checks that till shows no part of the key, in whatever form a proxy echoes the
// Authorization header: not on standard output or standard error, with or without --debug, not in the
// journal, and not in the results of a run.
func TestEchoedKeyStaysInside(t *testing.T) {
	key := echoedKey
	in64 := base64.StdEncoding.EncodeToString([]byte("Bearer " + key))
	escaped := ""
	for _, c := range []byte(key) {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	envelope := func(text string) string {
		return fmt.Sprintf(`{"error":{"code":7,"reason":"bad_key","description":"Bearer %s"}}`, text)
	}
	for name, answer := range map[string]string{
		"HTML with 200":            httpAnswer("200 OK", "<html><h1>It works</h1><pre>Authorization: Bearer "+key+"</pre>"),
		"HTML, escaped":            httpAnswer("200 OK", "<html>"+html.EscapeString(strings.ReplaceAll(key, "=", "&#61;"))),
		"a 502 that is cut":        httpAnswer("502 Bad Gateway", "<html><title>502</title><p>upstream said no to Bearer "+key),
		"a 502 in base64":          httpAnswer("502 Bad Gateway", "token "+in64),
		"a malformed status line":  "HTTP/1.1 " + key + "\r\n\r\n",
		"no HTTP":                  key + "\r\n\r\n",
		"the status line":          httpAnswer("403 Bearer "+key, ""),
		"Location":                 httpAnswer("302 Found", "", "Location: /login?next="+url.QueryEscape(key)),
		"Content-Length":           "HTTP/1.1 200 OK\r\nContent-Length: " + key + "\r\n\r\n",
		"Retry-After":              httpAnswer("429 Too Many Requests", envelope("x"), "Retry-After: "+key),
		"an envelope":              httpAnswer("400 Bad Request", envelope(strings.ReplaceAll(key, "/", `\/`))),
		"an escaped envelope":      httpAnswer("422 Unprocessable", envelope(escaped)),
		"a piece in an envelope":   httpAnswer("500 Oops", envelope(key[10:18])),
		"an id":                    httpAnswer("200 OK", `"`+key+`"`),
		"a piece in an id":         httpAnswer("200 OK", `"w-`+key[20:28]+`"`),
		"behind the first 4 KiB":   httpAnswer("200 OK", "<p>"+strings.Repeat("x", 4<<10-12)+key),
		"data":                     httpAnswer("200 OK", `{"a":1.50,"token":"`+hex.EncodeToString([]byte(key))+`"}`),
		"a body that is cut":       "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + key,
		"chunks that are none":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + key + "\r\n",
		"a header without a colon": "HTTP/1.1 200 OK\r\n" + key + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			base := startEcho(t, answer)
			shown := ""
			till := func(args ...string) string {
				cmd := exec.Command("till", args...)
				cmd.Dir = dir
				cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TILL_BASE_URL=" + base, "TILL_API_KEY=" + key, "TILL_LOOKUP=never", "TILL_RETRIES=0",
					"TILL_JOURNAL=" + dir + "/journal.db"}
				var out, errOut bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errOut
				err := cmd.Run()
				if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() == cmdutil.ExitInternal) {
					t.Fatalf("till %s: %v\n%s", strings.Join(args, " "), err, &errOut)
				}
				shown += out.String() + errOut.String()
				return out.String() + errOut.String()
			}
			create := []string{"withdraw", "create", "--currency", "Btc", "--amount-minor", "5", "--address", "bc1qexample", "--yes"}
			if text := till(append(create, "--order-id", "1")...); !strings.Contains(text, "till: ") {
				t.Errorf("the create did not fail: %s", text)
			}
			till(append(create, "--order-id", "2", "--allow-duplicate", "-o", "json", "--debug")...)
			if err := os.WriteFile(dir+"/rows.csv", []byte("order_id,currency,amount_minor,address\n3,Btc,7,bc1qexample\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			till("payout", "plan", "rows.csv", "--out", "rows.plan")
			till("payout", "apply", "rows.plan", "--yes", "--keep-going", "--results", "results.csv", "--debug")
			till("journal", "export", "-o", "json")
			till("api", "GET", "/api/anything")
			if _, err := os.Stat(dir + "/results.csv"); err != nil {
				t.Errorf("there are no results: %v\n%s", err, shown)
			}
			if piece := pieceOfKey(shown, key); piece != "" {
				t.Errorf("%q is shown:\n%s", piece, shown)
			}
			if name == "data" && !strings.Contains(shown, `"a": 1.50`) && !strings.Contains(shown, `"a":1.50`) {
				t.Errorf("what is not the key is gone:\n%s", shown)
			}
			files := 0
			filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				if files++; err != nil {
					t.Error(err)
				}
				if piece := pieceOfKey(string(text), key); piece != "" {
					t.Errorf("%q is in %s", piece, path)
				}
				return nil
			})
			if files < 4 {
				t.Errorf("there are only %d files", files)
			}
		})
	}
}
