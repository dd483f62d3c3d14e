package secret

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var codes = regexp.MustCompile(`%..`)

func TestHide(t *testing.T) {
	for _, key := range []string{`sk/Zq7+w&u=m"x<p%41é\`, "4f1c0e9ab2d84c7e", "p@ss word", "abcd", "?~>~?>~~"} {
		asJSON, _ := json.Marshal(key)
		inner := func(quoted string) string { return quoted[1 : len(quoted)-1] }
		written := []string{key, inner(string(asJSON)), inner(strconv.Quote(key)),
			strings.ReplaceAll(inner(strconv.Quote(key)), "/", `\/`),
			strings.ReplaceAll(url.QueryEscape(key), "%2F", "/"), url.QueryEscape(key), url.PathEscape(key),
			codes.ReplaceAllStringFunc(url.QueryEscape(key), strings.ToLower),
			codes.ReplaceAllStringFunc(url.PathEscape(key), strings.ToLower),
			html.EscapeString(key), strings.ReplaceAll(html.EscapeString(key), "&#34;", "&quot;")}
		for _, text := range written {
			if got := Hide("<"+text+"|"+text+">", "other", key); got != "<[hidden]|[hidden]>" {
				t.Errorf("%s became %s", text, got)
			}
		}
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
			base64.RawURLEncoding} {
			for _, before := range []string{"", "u:", "user:", "Bearer "} {
				text := encoding.EncodeToString([]byte(before + key))
				got := Hide(text, key)
				if _, after, found := strings.Cut(got, mark); !found || len(after) > 3 ||
					!strings.HasPrefix(text, got[:len(before)]) {
					t.Errorf("%s became %s", text, got)
				}
			}
		}
	}
}

// TestHideKeepsTheRest checks that a part of a secret is no secret, and neither is one that is too short.
func TestHideKeepsTheRest(t *testing.T) {
	for _, text := range []string{"", "live_4f1c0e9", "4F1C0E9AB2D8", "the merchant 4f1c0e9ab2d"} {
		if got := Hide(text, "", "the", "live_4f1c0e9ab2d8"); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestHideInJSON checks that a string in JSON stays one, also if the secret ends with a backslash.
func TestHideInJSON(t *testing.T) {
	for _, key := range []string{`secret\`, `sec"ret`, `"secret"`} {
		text, _ := json.Marshal([]string{"a" + key, key + "b", key})
		var got []string
		if err := json.Unmarshal([]byte(Hide(string(text), key)), &got); err != nil || got[0] != "a"+mark ||
			got[1] != mark+"b" || got[2] != mark {
			t.Errorf("%s became %s", text, Hide(string(text), key))
		}
	}
}
