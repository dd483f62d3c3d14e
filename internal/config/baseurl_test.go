package config

import (
	"testing"
)

func TestNormalizeBaseURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://pay.example.com":           "https://pay.example.com",
		"HTTPS://PAY.Example.COM:443/":      "https://pay.example.com",
		"https://pay.example.com:8443/A/b/": "https://pay.example.com:8443/A/b",
		"https://x:0443":                    "https://x",
		"https://x/a%20b":                   "https://x/a%20b",
		"http://127.0.0.1:8080":             "http://127.0.0.1:8080",
		"http://127.9.8.7:80":               "http://127.9.8.7",
		"http://[::1]:8080/":                "http://[::1]:8080",
		"http://[0:0::1]":                   "http://[::1]",
		"https://[2001:DB8::1]":             "https://[2001:db8::1]",
		"https://[FE80::1%25lo]:8443/a":     "https://[fe80::1%25lo]:8443/a",
		"https://x:":                        "https://x",
		"https://x//":                       "https://x",
		"https://x/ä/":                      "https://x/%C3%A4",
		"https://x/.well/a..b":              "https://x/.well/a..b",
	} {
		if got, err := NormalizeBaseURL(text); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
		if again, err := NormalizeBaseURL(want); again != want {
			t.Errorf("%q is normalized to %q, %v", want, again, err)
		}
	}
	for _, text := range []string{
		"", "x", "//x", "http://", "https://", "https:x", "http://127.0.0.1.example.com", "http://127.1", "http://2130706433",
		"http://0x7f.0.0.1",
		"http://0.0.0.0", "http://[::]", "http://[::ffff:127.0.0.1]", "http://[::1%25lo]", "http://localhost",
		"http://LOCALHOST:1",
		"http://128.0.0.1", "http://10.0.0.1", "https://x y", "https://x\n", "https://x:0", "https://x:65536", "https://u@x",
		"https://x?", "https://x#",
		"http://127.0.0.1@evil.example", "http://evil.example\\@127.0.0.1",
		"https://x/.", "https://x/..", "https://x/a/..", "https://x/./a", "https://x/a/../",
		"https://x/%2e%2e", "https://x/%2E/a",
		"https://x/a%2F..", "https://x/a//b", "https://x/%61", "https://x/a%2Fb", "https://x/%c3%a4",
		"https://x.", "https://x.:8443/a", "https://x..", "https://x%E3%80%82", "https://ｘ",
	} {
		if got, err := NormalizeBaseURL(text); err == nil {
			t.Errorf("%q is taken as %q", text, got)
		}
	}
}
