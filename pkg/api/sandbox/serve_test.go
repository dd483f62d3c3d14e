package sandbox_test

import (
	"context"
	"net"
	"strings"
	"testing"
)

// TestServeEndsDespiteIdleConnections checks that a connection on which no request has come, or only a part
// of one, does not hold up the end.
func TestServeEndsDespiteIdleConnections(t *testing.T) {
	for name, sent := range map[string]string{
		"nothing":           "",
		"part of a request": "GET /api/invites HT",
		"part of a body": "POST /api/invoice HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
			"Content-Length: 99\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			url, stop := b.serve()
			idle, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			must(t, err)
			defer idle.Close()
			must(t, second(idle.Write([]byte(sent))))
			// Connections are accepted in order: after an answer on the next one, this one is known.
			if status, _, err := ask("", "GET", url+"/sandbox/health", ""); err != nil || status != 200 {
				t.Fatal(status, err)
			}
			must(t, stop()) // after 5 seconds, if it waits
		})
	}
}

func TestServeRefusesUnusableListeners(t *testing.T) {
	b := newBox(t)
	wide, err := net.Listen("tcp4", "0.0.0.0:0")
	must(t, err)
	says(t, b.Serve(t.Context(), wide), "loopback")
	closed := listen(t)
	closed.Close()
	failIf(t, b.Serve(t.Context(), closed) == nil, "a closed listener is no error")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Serve(done, listen(t)); err != nil {
		t.Errorf("a context that is done already: %v", err)
	}
}
