package requestlog

import (
	"bytes"
	"encoding/json"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	redacted = "REDACTED"
	leastKey = 8 // a shorter text is no key, and would be found everywhere
)

// maxDecoded is how often a text is decoded to find a key in it.
const maxDecoded = 3

var brokenEscape = sync.OnceValue(func() *regexp.Regexp { // at the end of a text
	return regexp.MustCompile(`(%[0-9A-Fa-f]?|\\(u[0-9A-Fa-f]{0,3})?)$`)
})

// A redactor knows the keys that may be in a request.
type redactor struct {
	prefix string   // begins the sandbox's keys, which end before a space or a control character
	others []string // whole keys
}

func (k redactor) has(text string) bool {
	return strings.Contains(text, k.prefix) ||
		slices.ContainsFunc(k.others, func(key string) bool { return strings.Contains(text, key) })
}

// redact replaces every key in a text. A text in which a key appears only when it is decoded is replaced as a whole.
func (k redactor) redact(text string) string {
	text = k.redactPlain(text)
	for decoded := range decodings(text) {
		if k.has(decoded) {
			return redacted
		}
	}
	return text
}

func (k redactor) redactPlain(text string) string {
	for _, key := range k.others {
		text = strings.ReplaceAll(text, key, redacted)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, k.prefix)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(redacted)
		end := strings.IndexFunc(after, func(r rune) bool { return r <= ' ' || r > '~' })
		if end < 0 {
			return b.String()
		}
		text = after[end:]
	}
}

// decodings yields a text with its escapes of JSON and of URLs decoded once, twice and so on.
func decodings(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for range maxDecoded {
			if !strings.ContainsAny(text, `\%`) {
				return
			}
			text = unescape(text)
			if !yield(text) {
				return
			}
		}
	}
}

// unescape decodes what looks like an escape, and keeps the rest.
func unescape(text string) string {
	clean := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		if rest[0] == '%' && len(rest) > 2 {
			if n, err := strconv.ParseUint(rest[1:3], 16, 8); err == nil {
				clean = append(clean, byte(n))
				i += 2
				continue
			}
		}
		if rest[0] == '\\' && len(rest) > 5 && rest[1] == 'u' {
			if n, err := strconv.ParseUint(rest[2:6], 16, 16); err == nil {
				clean = utf8.AppendRune(clean, rune(n))
				i += 5
				continue
			}
		}
		if rest[0] == '\\' && len(rest) > 1 {
			i++
		}
		clean = append(clean, text[i])
	}
	return string(clean)
}

// redactEnd replaces the beginning of a key at the end of a text that was cut there.
func (k redactor) redactEnd(text string) string {
	for _, key := range k.others {
		if n := overlap(text, key); n > 0 {
			return text[:len(text)-n] + redacted
		}
		for decoded := range decodings(withoutBrokenEscape(text)) {
			if overlap(withoutBrokenEscape(decoded), key) > 0 {
				return redacted
			}
		}
	}
	return text
}

func withoutBrokenEscape(text string) string {
	end := max(0, len(text)-len(`\u000`))
	return text[:end] + brokenEscape().ReplaceAllString(text[end:], "")
}

// overlap returns how many bytes at the end of a text are the beginning of a key, unless they are too few to matter.
func overlap(text, key string) int {
	for n := min(len(text), len(key)); n >= leastKey/2; n-- {
		if strings.HasSuffix(text, key[:n]) {
			return n
		}
	}
	return 0
}

// redactQuery keeps the spelling of every name and value that has no key.
func (k redactor) redactQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		sides := strings.SplitN(part, "=", 2)
		for j, side := range sides {
			text, err := url.QueryUnescape(side)
			if err != nil {
				text = side
			}
			if clean := k.redact(text); clean != text {
				sides[j] = url.QueryEscape(clean)
			}
		}
		parts[i] = strings.Join(sides, "=")
	}
	return strings.Join(parts, "&")
}

// redactBody returns a body as a JSON value, and what is not JSON as a string, which may
// be that of a form.
func (k redactor) redactBody(body []byte, cut bool) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	if cut || !isValue(body) {
		clean := k.redactQuery(k.redact(string(body)))
		if cut {
			clean = k.redactEnd(clean)
		}
		text, _ := json.Marshal(clean)
		return text
	}
	if !bytes.ContainsAny(body, `\%`) && !k.has(string(body)) {
		return body
	}
	whole := string(body)
	var b bytes.Buffer
	for len(body) > 0 {
		begin := bytes.IndexByte(body, '"')
		if begin < 0 {
			b.Write(body)
			break
		}
		end := begin + 1
		for ; body[end] != '"'; end++ {
			if body[end] == '\\' {
				end++
			}
		}
		end++
		b.Write(body[:begin])
		b.Write(k.redactString(body[begin:end]))
		body = body[end:]
	}
	if k.has(b.String()) { // outside the strings
		text, _ := json.Marshal(k.redact(whole))
		return text
	}
	return b.Bytes()
}

// isValue reports whether a body can be a part of the answer as it is: it is JSON, and not nested so deeply that the
// answer would not be.
func isValue(body []byte) bool {
	const levels = "[[[[[[[[[["
	return json.Valid(body) &&
		json.Valid(slices.Concat([]byte(levels), body, bytes.Repeat([]byte("]"), len(levels))))
}

// redactString redacts a string in JSON, which may have escapes.
func (k redactor) redactString(literal []byte) []byte {
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return literal
	}
	clean := k.redact(text)
	if clean == text {
		return literal
	}
	written, _ := json.Marshal(clean)
	return written
}
