package api

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// aKey is a key that has a character for every escape.
const aKey = `sk_live/Zq7+wT4&uR9=mK2"xV6<pL8%41eH3yN5\nbJ0~dG1'fC`

// spellings returns a text as services, proxies and gateways write it.
func spellings(text string) map[string]string {
	each := func(format string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	quoted := func(text string) string { b, _ := json.Marshal(text); return string(b) }
	all := map[string]string{
		"plain": text, "upper case": strings.ToUpper(text), "lower case": strings.ToLower(text),
		"Go": fmt.Sprintf("%q", text), "JSON": quoted(text), "JSON in JSON": quoted(quoted(text)), "JSON in JSON in JSON": quoted(quoted(quoted(text))),
		"JSON, slashes": strings.ReplaceAll(text, "/", `\/`),
		"URL query":     url.QueryEscape(text), "URL path": url.PathEscape(text), "URL, twice": url.QueryEscape(url.QueryEscape(text)),
		"HTML": html.EscapeString(text), "HTML in JSON": quoted(html.EscapeString(text)), "URL in HTML": html.EscapeString(url.QueryEscape(text)),
		`\u0041`: each(`\u%04x`), `\x41`: each(`\x%02x`), `\U00000041`: each(`\U%08X`), "%u0041": each("%%u%04x"), "%41": each("%%%02x"), "%4F": each("%%%02X"),
		"&#65;": each("&#%d;"), "&#065;": each("&#%04d;"), "&#x41;": each("&#x%x;"), "&#X41;": each("&#X%X;"), "&amp;#65;": each("&amp;#%d;"),
		`\101`:   each(`\%03o`),
		"UTF-16": each("%c\x00"), `\u0041\u0000`: each(`\u%04x\u0000`),
		"hexadecimal": hex.EncodeToString([]byte(text)), "HEXADECIMAL": strings.ToUpper(hex.EncodeToString([]byte(text))),
		"HTML names": strings.NewReplacer("/", "&sol;", "+", "&plus;", "=", "&equals;", "_", "&lowbar;", "%", "&percnt;").Replace(text),
	}
	for name, encoding := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding, "raw std": base64.RawStdEncoding, "raw url": base64.RawURLEncoding} {
		for _, before := range []string{"", "Bearer ", "k:", "x", "xy", "xyz"} {
			for _, after := range []string{"", ":", "\r\n"} {
				all[fmt.Sprintf("base64 %s of %q and %q", name, before, after)] = encoding.EncodeToString([]byte(before + text + after))
			}
		}
		all["base64 "+name+" in a URL"] = url.QueryEscape(encoding.EncodeToString([]byte(text)))
		all["base64 "+name+" in JSON"] = strings.ReplaceAll(encoding.EncodeToString([]byte(text)), "/", `\/`)
	}
	return all
}

var octal = regexp.MustCompile(`\\[01][0-7][0-7]`)

// leaks returns a piece of the key that a text shows when it is decoded in any way, or an empty string. It is
// slow and simple, and shares no code with what it tests.
func leaks(text, key string) string {
	lower := strings.ToLower
	readings, seen := []string{text, strings.ReplaceAll(text, "\x00", "")}, map[string]bool{text: true}
	for i := 0; i < len(readings); i++ {
		t := readings[i]
		var more []string
		if i < 40 {
			more = append(more, html.UnescapeString(t), strings.NewReplacer(`\\`, `\`, `\/`, "/", `\"`, `"`, `\'`, "'").Replace(t))
			for _, mark := range []string{`\u00`, `\U000000`, `\x`, "%u00", "%"} {
				more = append(more, replaceHex(t, mark))
			}
			more = append(more, octal.ReplaceAllStringFunc(t, func(digits string) string {
				n, _ := strconv.ParseUint(digits[1:], 8, 8)
				return string(rune(n))
			}))
		}
		if i < 8 {
			for _, run := range strings.FieldsFunc(t, func(c rune) bool { return !strings.ContainsRune(base64Letters+"-_", c) || c == '=' }) {
				run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
				for start := range min(4, len(run)) {
					part := run[start:]
					if decoded, err := base64.RawStdEncoding.DecodeString(part[:len(part)/4*4]); err == nil {
						more = append(more, string(decoded))
					}
				}
				for start := range min(2, len(run)) {
					part := run[start:]
					if decoded, err := hex.DecodeString(part[:len(part)/2*2]); err == nil {
						more = append(more, string(decoded))
					}
				}
			}
		}
		for _, m := range more {
			if m = strings.ReplaceAll(m, "\x00", ""); len(m) >= 8 && !seen[m] {
				seen[m] = true
				readings = append(readings, m)
			}
		}
	}
	for _, t := range readings {
		for i := range len(key) - 7 {
			if piece := key[i : i+8]; strings.Contains(lower(t), lower(piece)) {
				return piece
			}
		}
	}
	return ""
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// replaceHex replaces a mark followed by two hexadecimal digits with the character.
func replaceHex(text, mark string) string {
	parts := strings.Split(text, mark)
	for i, part := range parts[1:] {
		if len(part) >= 2 {
			if c, err := hex.DecodeString(part[:2]); err == nil {
				parts[i+1] = string(c) + part[2:]
				continue
			}
		}
		parts[i+1] = mark + part
	}
	return strings.Join(parts, "")
}

// TestLeaksFindsEverySpelling checks that leaks finds the key in every spelling.
func TestLeaksFindsEverySpelling(t *testing.T) {
	for _, key := range []string{aKey, "4f1c0e9ab2d84c7ea1b05d3ef6c81234"} {
		for name, text := range spellings(key) {
			if leaks("before "+text+" after", key) == "" {
				t.Errorf("%s is not seen: %s", name, text)
			}
		}
	}
	if piece := leaks("the key [hidden] is wrong", aKey); piece != "" {
		t.Errorf("%q is seen where it is not", piece)
	}
}

func TestKeyIsHiddenInEverySpelling(t *testing.T) {
	for _, key := range []string{aKey, "4f1c0e9ab2d84c7ea1b05d3ef6c81234", "till_sandbox_Q4W8ZK2M7XP5", "12345678901234567890", "7c9e6679-7425-40de-944b-e07fc1f90ae7",
		"?~>~?>~~??~>~?~>??~~>?~>"} { // the last has + and / throughout in base64
		r := newRedactor(key)
		for name, text := range spellings(key) {
			for _, around := range [][2]string{{"", ""}, {"key=", "&x=1"}, {`{"key":"`, `"}`}, {"<p>", "</p>"}} {
				got := r.text(around[0] + text + around[1])
				if piece := leaks(got, key); piece != "" {
					t.Errorf("%s: %q leaks %q", name, got, piece)
				}
				if !strings.HasPrefix(got, around[0]) || !strings.HasSuffix(got, around[1]) || !strings.Contains(got, hiddenMark) {
					t.Errorf("%s: what is around it is gone: %q", name, got)
				}
			}
		}
	}
}

// TestLongPiecesOfTheKeyAreHidden checks that a piece of eight characters is hidden completely, and that one
// of seven is shown.
func TestLongPiecesOfTheKeyAreHidden(t *testing.T) {
	const key = "Zq7wT4uR9mK2xV6pL8eH3yN5bJ0"
	r := newRedactor(key)
	for i := range len(key) - 7 {
		for name, text := range spellings(key[i : i+8]) {
			if got := r.text("<" + text + ">"); leaks(got, key) != "" {
				t.Errorf("%s: %q leaks", name, got)
			}
		}
		if text := "<" + key[i:i+7] + ">"; r.text(text) != text {
			t.Errorf("%s became %s", text, r.text(text))
		}
	}
	for i := range len(key) - 8 {
		if got := r.text("<" + key[i:i+9] + ">"); got != "<[hidden]>" {
			t.Errorf("got %s", got)
		}
	}
}

// TestKeyIsHiddenAnywhere checks that the key is found anywhere in a long text, between escapes and without
// them, at the end of each part and across it.
func TestKeyIsHiddenAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := newRedactor(aKey)
	written := spellings(aKey)
	filler := []string{`\u00e4`, "%20", "&amp;", "&", "%", `\n`, `\\`, "x", "plain text ", "\x00", strings.Repeat("y", 40)}
	for name, text := range written {
		for range 6 {
			var b strings.Builder
			for target := random.IntN(3 * mostAtOnce); b.Len() < target; {
				b.WriteString(filler[random.IntN(len(filler))])
			}
			before := b.String() + " "
			after := strings.Repeat(filler[random.IntN(len(filler))], 20)
			if got := r.text(before + text + after); !strings.HasPrefix(got, strings.TrimRight(before, " ")) || strings.Count(got, hiddenMark) == 0 || leaks(got[max(0, len(before)-4):], aKey) != "" {
				t.Errorf("%s after %d bytes: %q", name, len(before), got[max(0, len(before)-20):])
			}
		}
	}
}

// TestKeyIsHiddenAcrossParts checks that a piece across the end of a part is found whole.
func TestKeyIsHiddenAcrossParts(t *testing.T) {
	r := newRedactor(aKey)
	for _, as := range []string{`\u0041`, "&#65;", `\U00000041`, "%41"} {
		written := spellings(aKey[:8])[as]
		for n := range 80 {
			before := strings.Repeat("x", n%6) + strings.Repeat(`\u00e4`, mostAtOnce/6-n/3)
			if got := r.text(before + written + "."); !strings.HasPrefix(got, before) || leaks(got[len(before):], aKey) != "" {
				t.Fatalf("%s after %d bytes: %s", as, len(before), got[len(before)-10:])
			}
		}
	}
}

// TestOtherTextStaysExact checks that text without the key stays the same byte for byte, and so does a number
// that only looks like a piece.
func TestOtherTextStaysExact(t *testing.T) {
	page := string(samplePage(50))
	for key, texts := range map[string][]string{
		aKey: {
			"", "a", page, strings.ReplaceAll(page, "shop", `sh\u006fp?a=1&b=%20&amp;\"`), "100% of it & more \\ and \x00", `\`, "%", "&", "&#", "&#x", `\u12`, `%4`, `\U0041`, "&nosuch;",
			strings.Repeat(`\u00e4`, 5000), strings.Repeat("\\", 9000), strings.Repeat("&", 9000), strings.Repeat("\x00", 9000), strings.Repeat("&amp;", 5000),
		},
		"9k12345678km4":             {`{"external_id":9123456780,"amount":112345678}`, "123456789", "012345678"},
		"key":                       {"ke y", "KEY", "k\\x", "keykeep"[3:]},
		"till_sandbox_Q4W8ZK2M7XP5": {"till_sandbox_", `{"api_key":"till_sandbox_B2"}`, "till_sandbox_Q4W"},
	} {
		r := newRedactor(key)
		for _, text := range texts {
			if got := r.text(text); got != text {
				t.Errorf("%.80q became %.80q", text, got)
			}
			if got := r.hide([]byte(text)); string(got) != text {
				t.Errorf("%.80q became %.80q", text, got)
			}
		}
	}
	if got := (*redactor)(nil).text("text"); got != "text" {
		t.Errorf("without a key: %q", got)
	}
	if got := newRedactor("").hide([]byte("text")); string(got) != "text" {
		t.Errorf("with an empty key: %q", got)
	}
}

// TestNumberThatIsAPieceIsHidden checks that a number that is a piece of the key, and not part of a longer
// number, is hidden.
func TestNumberThatIsAPieceIsHidden(t *testing.T) {
	r := newRedactor("9k12345678km4")
	for _, text := range []string{"12345678", `"12345678"`, "k12345678", "x9k12345678", "5k123456789"} {
		if got := r.text(text); !strings.Contains(got, hiddenMark) || strings.Contains(got, "12345678") {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestAnswerStaysReadable checks that hiding a key changes neither the interface's names nor the numbers of an
// answer, and still hides the key itself.
func TestAnswerStaysReadable(t *testing.T) {
	for _, tt := range []struct{ key, body, want string }{
		{"live_20261126_abcdefgh", `{"external_id": 20261126,"x":[20261126 ,-20261126.5]}`, ""},
		{"live_20261126_abcdefgh", `{"external_order_id":"20261126"}`, `{"external_order_id":"[hidden]"}`},
		{"live_20261126_abcdefgh", `["20261126",20261126,"20261126",5,20261126,"a 20261126","20261126"]`,
			`["[hidden]",20261126,"[hidden]",5,20261126,"a [hidden]","[hidden]"]`},
		{"live_20261126_abcdefgh", `20261126 is no JSON`, "[hidden] is no JSON"},
		{"merchant_9fX2Zq7wT4", `{"merchant_id":"m1","MERCHANT_ID":1}`, ""},
		{"merchant_9fX2Zq7wT4", `{"merchant_id":"merchant_9fX2Zq7wT4"}`, `{"merchant_id":"me[hidden]"}`},
		{"external_order_id", `{"external_order_id":"external_id"}`, ""},
		{"external_order_id_7Fq29x", `{"external_order_id":"7","echo":"external_order_id_7Fq29x"}`,
			`{"external_order_id":"7","echo":"external_o[hidden]"}`},
		{"1234567890", `{"id":1234567890,"other":12345678}`, `{"id":[hidden],"other":12345678}`},
	} {
		if tt.want == "" {
			tt.want = tt.body
		}
		if got := newRedactor(tt.key).body([]byte(tt.body)); string(got) != tt.want {
			t.Errorf("with the key %s, %s became %s", tt.key, tt.body, got)
		}
	}
}

// TestPublicWords checks that every long name of an answer is a public word.
func TestPublicWords(t *testing.T) {
	words := strings.Fields(publicWords)
	for _, answer := range []any{
		withdrawalJSON{}, WithdrawalPage{}, invoiceJSON{}, InvoiceItem{}, Invite{}, resellerJSON{}, ResellerStats{}, StatusCount{},
		InvoiceRebate{}, CodeTotal{}, Rebate{},
	} {
		for field := range reflect.TypeOf(answer).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if len(name) >= shortestPiece && !slices.Contains(words, name) {
				t.Errorf("%s of %T is no public word", name, answer)
			}
		}
	}
}

// TestShortKey checks that a key of fewer than eight characters is hidden only as a whole.
func TestShortKey(t *testing.T) {
	r := newRedactor(`a"c%/é`[:5])
	for text, want := range map[string]string{
		`<a"c%/>`: "<[hidden]>", `"a\"c%\/"`: `"[hidden]"`, "a%22c%25%2F": "[hidden]", `a"c%`: `a"c%`, `A"C%/`: `A"C%/`, `a"c%/a"c%/`: "[hidden]",
	} {
		if got := r.text(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// TestHiddenInJSON checks that JSON is still valid after the key is hidden, and keeps everything around the
// key.
func TestHiddenInJSON(t *testing.T) {
	for _, key := range []string{aKey, `nKEYPIECE1\`, `"KEYPIECE"1`, `\KEYPIECE1`} {
		r := newRedactor(key)
		for _, around := range []string{"", "x", "\n", `\`, `"`, "é", "\u2028", "/"} {
			text, err := json.Marshal(map[string]string{"reason": around + key + around, "other": `\"`})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{string(text), strings.ReplaceAll(string(text), "/", `\/`)} {
				var got map[string]string
				want := around + hiddenMark + around
				// The backslash may belong to the first character, and is then hidden with it.
				if around == `\` {
					want = hiddenMark
					got := r.text(text)
					if !json.Valid([]byte(got)) || !strings.Contains(got, want) || leaks(got, key) != "" {
						t.Errorf("%s became %s", text, got)
					}
					continue
				}
				if err := json.Unmarshal([]byte(r.text(text)), &got); err != nil || got["reason"] != want || got["other"] != `\"` {
					t.Errorf("%s became %s: %v, %q", text, r.text(text), err, got)
				}
			}
		}
	}
}

// TestHiddenWithinAnEscape checks that a piece that begins or ends within an escape hides the whole escape.
func TestHiddenWithinAnEscape(t *testing.T) {
	for _, tt := range []struct{ key, text, want string }{
		{"nKEYPIECE1", `"\nKEYPIECE1"`, `"[hidden]"`},
		{"nKEYPIECE1", `"\\nKEYPIECE1"`, `"\\[hidden]"`},
		{`KEYPIECE1\`, `"KEYPIECE1\"x"`, `"[hidden]x"`},
		{"k%41b/cdef", `"k%41b\/cdef"`, `"[hidden]"`}, // a key that looks escaped, partly escaped
		{`KEYPIECE1\`, `"KEYPIECE1\u0041x"`, `"[hidden]x"`},
		{`KEYPIECE1\`, `"KEYPIECE1\\x"`, `"[hidden]x"`},
	} {
		if got := newRedactor(tt.key).text(tt.text); got != tt.want || !json.Valid([]byte(got)) {
			t.Errorf("%s in %s: got %s, want %s", tt.key, tt.text, got, tt.want)
		}
	}
}

func TestHiddenInHeader(t *testing.T) {
	h := http.Header{"Location": {"/?key=" + url.QueryEscape(aKey), "/"}, "X-Zq7+wT4&uR9": {"a"}, "Date": {"today"}}
	newRedactor(aKey).header(h)
	if piece := leaks(fmt.Sprint(h), aKey); piece != "" || len(h) != 3 || h.Get("Date") != "today" || h["Location"][1] != "/" || h["X-"+hiddenMark] == nil {
		t.Errorf("got %v", h)
	}
}

// TestHiddenInError checks that an error from which the key is removed still matches the same errors, and
// does not expose the original text.
func TestHiddenInError(t *testing.T) {
	r := newRedactor(aKey)
	cause := fmt.Errorf("malformed %q: %w", aKey, io.ErrUnexpectedEOF)
	err := r.err(cause)
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || !strings.HasPrefix(err.Error(), "malformed ") {
		t.Errorf("got %v", err)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if piece := leaks(fmt.Sprintf("%v %+v %#v", e, e, e), aKey); piece != "" {
			t.Errorf("%#v leaks %q", e, piece)
		}
	}
	if r.err(io.EOF) != io.EOF {
		t.Error("an error without the key is another one now")
	}
	unsent := interface{ NotSent() bool }(nil)
	if err := r.err(notSentError{cause}); !errors.As(err, &unsent) || !unsent.NotSent() {
		t.Errorf("it is lost that it was not sent: %v", err)
	}
	if err := r.err(cause); errors.As(err, &unsent) && unsent.NotSent() {
		t.Errorf("nobody knows that it was not sent: %v", err)
	}
}

// FuzzRedactor looks for a text that leaks, panics, or changes although it does not contain the key.
func FuzzRedactor(f *testing.F) {
	for _, text := range spellings(aKey) {
		f.Add(text, uint8(0), uint8(200))
	}
	f.Fuzz(func(t *testing.T, text string, from, to uint8) {
		if len(text) > 4096 {
			return
		}
		r := newRedactor(aKey)
		piece := aKey[min(int(from), len(aKey)):]
		piece = piece[:min(int(to), len(piece))]
		got := r.text(text + piece)
		for i := range len(aKey) - 7 {
			if strings.Contains(got, aKey[i:i+8]) {
				t.Errorf("%q leaks %q", got, aKey[i:i+8])
			}
		}
		if again := r.text(got); len(r.find([]byte(got))) > 0 && !strings.Contains(again, hiddenMark) {
			t.Errorf("%q became %q", got, again)
		}
	})
}

// BenchmarkRedactor measures the search of a page without the key, which comes on top of decoding it.
func BenchmarkRedactor(b *testing.B) {
	page := samplePage(1000)
	for name, body := range map[string][]byte{"plain": page, "callbacks": []byte(strings.ReplaceAll(string(page), "/withdrawn", "/w?a=1&b=%20"))} {
		for kind, key := range map[string]string{"letters": "Zq7wT4uR9mK2xV6pL8eH3yN5bJ0dG1fC", "hexadecimal": "4f1c0e9ab2d84c7ea1b05d3ef6c81234"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				r := newRedactor(key)
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					r.hide(body)
				}
			})
		}
	}
}
