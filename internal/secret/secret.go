// Package secret hides keys and passwords in texts about a call. Answers of a service are data: callers do
// not pass them to Hide.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	mark     = "[hidden]"
	shortest = 4 // a shorter secret is in many texts by chance
)

// Hide replaces each secret in a text: as it is, quoted for JSON, a URL or HTML, and in base64. Only a whole
// secret of at least four characters is found.
func Hide(text string, secrets ...string) string {
	for _, secret := range secrets {
		if len(secret) < shortest || len(text) < len(secret) {
			continue
		}
		for _, spelling := range spellings(secret) {
			text = strings.ReplaceAll(text, spelling, mark)
		}
	}
	return text
}

// spellings returns the longest spelling first, because a shorter one may be a part of it.
func spellings(secret string) []string {
	asJSON, _ := json.Marshal(secret) // escapes < and > too
	quoted, inHTML := strconv.Quote(secret), html.EscapeString(secret)
	query, path := url.QueryEscape(secret), url.PathEscape(secret)
	slashes := strings.ReplaceAll(query, "%2F", "/")
	all := []string{
		secret, unquoted(string(asJSON)), unquoted(quoted), unquoted(strings.ReplaceAll(quoted, "/", `\/`)),
		inHTML, strings.ReplaceAll(inHTML, "&#34;", "&quot;"), query, lowerCodes(query), path, lowerCodes(path),
		slashes, lowerCodes(slashes),
	}
	// The secret may be a part of what is encoded, as a password is after "user:". Then 0, 1 or 2 bytes before
	// it share its first characters: only those that encode nothing else are the same each time.
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte("xy"[:before] + secret))
		text = text[(8*before+5)/6 : 8*(before+len(secret))/6]
		all = append(all, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

func unquoted(text string) string { return text[1 : len(text)-1] }

// lowerCodes writes %2F as %2f.
func lowerCodes(text string) string {
	parts := strings.Split(text, "%")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToLower(part[:2]) + part[2:]
	}
	return strings.Join(parts, "%")
}
