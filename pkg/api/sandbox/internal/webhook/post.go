package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
)

type targetError struct{ address string }

func (e *targetError) Error() string {
	return e.address + " is not a loopback address; the setting callback_targets=any lets the sandbox post to others"
}

// isLocalName reports whether a host is an address or a name of this machine. An address is checked later,
// when it is dialled.
func isLocalName(host string) bool {
	_, err := netip.ParseAddr(host)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// checkDialled checks the address that is dialled, whatever name it came from.
func (c *Sender) checkDialled(_, address string, _ syscall.RawConn) error {
	if c.limits().CallbackTargets != "loopback" {
		return nil
	}
	if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
		return &targetError{address}
	}
	return nil
}

func (c *Sender) post(address, body string) (a store.Attempt, refused bool) {
	limits := c.limits()
	ctx, cancel := context.WithTimeout(c.ctx, limits.CallbackTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return store.Attempt{Error: cleaned(err.Error())}, false
	}
	// Refuse here, so that no name server is asked for the address.
	if limits.CallbackTargets == "loopback" && !isLocalName(req.URL.Hostname()) {
		return store.Attempt{Error: (&targetError{req.URL.Host}).Error()}, true
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "till-sandbox")
	answer, err := c.client.Do(req)
	if err != nil {
		_, refused = errors.AsType[*targetError](err)
		return store.Attempt{Error: c.reason(ctx, limits, err)}, refused
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1)) // the status has arrived, and it decides
	return store.Attempt{Status: answer.StatusCode, Answer: cleaned(string(text))}, false
}

func (c *Sender) reason(ctx context.Context, limits Limits, err error) string {
	switch {
	case c.ctx.Err() != nil:
		return "the sandbox was closed before an answer came"
	case ctx.Err() != nil:
		return fmt.Sprintf("no answer came within %s", limits.CallbackTimeout)
	}
	if refused, ok := errors.AsType[*targetError](err); ok {
		return refused.Error()
	}
	if outer, ok := errors.AsType[*url.Error](err); ok { // it repeats the URL
		err = outer.Err
	}
	return cleaned(err.Error())
}

// cleaned returns a text from outside as the store keeps it: limited in length and in valid UTF-8.
func cleaned(text string) string { return strings.ToValidUTF8(refusal.Cut(text, maxAnswer), "\uFFFD") }
