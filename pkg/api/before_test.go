package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
)

var errChecked = errors.New("the record is too old")

// accepting answers creates, and reads of a withdrawal.
func accepting(c *wireConn, r *http.Request) bool {
	if r.Method == "POST" {
		c.say(reply(200, `"w-1"`))
	} else {
		c.say(reply(200, sampleWithdrawal))
	}
	return true
}

// TestBeforeSending checks that the check runs when there is a connection, and before any byte of the request
// is written to it. If the check refuses, no byte of the request reaches the server.
func TestBeforeSending(t *testing.T) {
	connections := map[bool]string{true: "reused", false: "new"}
	for n := range 8 {
		secure, reused, refuse := n&1 > 0, n&2 > 0, n&4 > 0
		t.Run(fmt.Sprintf("TLS=%t/reused=%t/refused=%t", secure, reused, refuse), func(t *testing.T) {
			w, roots := newWire(t, accepting), (*x509.CertPool)(nil)
			if secure {
				w, roots = tlsWire(t, accepting, 0)
			}
			client := newClient(t, w.url, WithRootCAs(roots))
			if reused {
				warm(t, client)
			}
			var steps, want []string
			if secure && !reused {
				want = append(want, "TLS")
			}
			want = append(want, connections[reused], "asked")
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				TLSHandshakeDone: func(tls.ConnectionState, error) { steps = append(steps, "TLS") },
				GotConn:          func(i httptrace.GotConnInfo) { steps = append(steps, connections[i.Reused]) },
			})
			ctx = BeforeSending(ctx, func() error {
				if steps = append(steps, "asked"); refuse {
					return errChecked
				}
				return nil
			})
			id, err := client.Withdrawals.Create(ctx, sampleCreate())
			client.closeIdle()
			w.stop()
			switch began := w.began.Load(); {
			case refuse:
				if e := failure(t, err); e.Outcome != NotSent || !errors.Is(err, errChecked) ||
					!strings.Contains(e.Error(), errChecked.Error()) || id != "" || began != 0 {
					t.Errorf("got %q, %v after %d creates", id, err, began)
				}
			case err != nil || id != "w-1" || began != 1:
				t.Errorf("got %q, %v after %d creates", id, err, began)
			}
			if !slices.Equal(steps, want) {
				t.Errorf("it went %v, want %v", steps, want)
			}
		})
	}
}

// TestEachCreateCallsItsOwnCheck checks that each create calls its own check once, and that a read calls
// none, even on the same connection.
func TestEachCreateCallsItsOwnCheck(t *testing.T) {
	w := newWire(t, accepting)
	client := newClient(t, w.url)
	var asked []string
	under := func(name string) context.Context {
		return BeforeSending(context.Background(), func() error { asked = append(asked, name); return nil })
	}
	create := func(ctx context.Context) {
		t.Helper()
		must[string](t)(client.Withdrawals.Create(ctx, sampleCreate()))
	}
	create(under("first"))
	create(under("second"))
	create(context.Background())
	must[Withdrawal](t)(client.Withdrawals.Get(under("read"), warmUp))
	create(BeforeSending(under("third"), func() error { asked = append(asked, "inner"); return nil }))
	if _, err := client.Invites.Create(under("invite"), "7c9e6679-7425-40de-944b-e07fc1f90ae7"); err == nil {
		t.Error("that is no invite")
	}
	if creates := w.whole.Load(); creates != 5 || fmt.Sprint(asked) != "[first second third inner invite]" {
		t.Errorf("asked were %v, for %d creates", asked, creates)
	}
}

// TestBeforeSendingWithoutBody checks that a connection is not reused after its check has refused, and that
// net/http does not try another one for a request without a body.
func TestBeforeSendingWithoutBody(t *testing.T) {
	w := newWire(t, accepting)
	client := newClient(t, w.url)
	warm(t, client)
	ctx := BeforeSending(context.Background(), func() error { return errChecked })
	_, err := client.Do(ctx, "POST", "/api/other", nil)
	if e := failure(t, err); e.Outcome != NotSent || !errors.Is(err, errChecked) {
		t.Errorf("got %v", err)
	}
	if _, err := client.Withdrawals.Create(context.Background(), sampleCreate()); err != nil {
		t.Error(err)
	}
	if creates := w.began.Load(); creates != 1 {
		t.Errorf("%d creates reached the server", creates)
	}
}
