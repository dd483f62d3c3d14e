//go:build unix

package cli

import (
	"strings"
	"testing"
)

// TestOnlyOneValueIsFiltered checks that --jq takes no answer that is not one JSON value.
func TestOnlyOneValueIsFiltered(t *testing.T) {
	for _, body := range []string{"", "<html>", "{}{}", `{"a":1,"a":2}`, "\"\xff\""} {
		env := []string{"TILL_API_KEY=k", "TILL_BASE_URL=" + startEcho(t, httpAnswer("200 OK", body))}
		got := till(t, env, "api", "GET", "/api/thing", "--jq", ".")
		if got.code != 41 || !strings.Contains(got.err, "not one JSON value") {
			t.Errorf("%q: %+v", body, got)
		}
	}
}
