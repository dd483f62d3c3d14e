package requestlog

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

const (
	redacted = "REDACTED"
	leastKey = 8 // a shorter text is no key, and would be found everywhere
)

// redact replaces every key in a text. A key ends before a space or a control character.
func (l *Log) redact(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, l.prefix)
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
func (l *Log) redactQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		sides := strings.SplitN(part, "=", 2)
		for k, side := range sides {
			text, err := url.QueryUnescape(side)
			if err != nil {
				text = side
			}
			if strings.Contains(text, l.prefix) {
				sides[k] = url.QueryEscape(l.redact(text))
			}
		}
		parts[i] = strings.Join(sides, "=")
	}
	return strings.Join(parts, "&")
}

// redactBody returns a body as a JSON value, and what is not JSON as a string.
func (l *Log) redactBody(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	if !json.Valid(body) {
		text, _ := json.Marshal(l.redact(string(body)))
		return text
	}
	if !bytes.Contains(body, []byte(l.prefix)) && !bytes.ContainsRune(body, '\\') {
		return body
	}
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
		b.Write(l.redactString(body[begin:end]))
		body = body[end:]
	}
	return b.Bytes()
}

// redactString redacts a string in JSON, which may have escapes.
func (l *Log) redactString(literal []byte) []byte {
	var text string
	if json.Unmarshal(literal, &text) != nil || !strings.Contains(text, l.prefix) {
		return literal
	}
	clean, _ := json.Marshal(l.redact(text))
	return clean
}
