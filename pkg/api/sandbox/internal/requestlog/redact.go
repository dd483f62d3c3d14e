package requestlog

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const (
	redacted = "REDACTED"
	leastKey = 8 // a shorter text is no key, and would be found everywhere
)

// A redactor knows the keys that may be in a request.
type redactor struct {
	prefix string   // begins the sandbox's keys, which end before a space or a control character
	others []string // whole keys
}

func (k redactor) has(text string) bool {
	return strings.Contains(text, k.prefix) ||
		slices.ContainsFunc(k.others, func(key string) bool { return strings.Contains(text, key) })
}

// redact replaces every key in a text.
func (k redactor) redact(text string) string {
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
			if k.has(text) {
				sides[j] = url.QueryEscape(k.redact(text))
			}
		}
		parts[i] = strings.Join(sides, "=")
	}
	return strings.Join(parts, "&")
}

// redactBody returns a body as a JSON value, and what is not JSON as a string, which may
// be that of a form.
func (k redactor) redactBody(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	if !isValue(body) {
		text, _ := json.Marshal(k.redactQuery(k.redact(string(body))))
		return text
	}
	if !bytes.ContainsRune(body, '\\') && !k.has(string(body)) {
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
	if json.Unmarshal(literal, &text) != nil || !k.has(text) {
		return literal
	}
	clean, _ := json.Marshal(k.redact(text))
	return clean
}
