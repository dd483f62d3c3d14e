package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ErrUseCreate is the error of Do for the path that creates withdrawals.
var ErrUseCreate = errors.New("this path creates withdrawals, which is left to the one call that keeps them from being paid twice: withdraw create")

// Do sends a request to any path of the service and returns the body of its answer. It is for calls that the
// other methods do not cover. A GET and the interface's three list paths are reads: they are retried like any
// other read, and are Failed when they fail. Everything else is sent at most once, and is Unknown unless a
// 200 or a rejection came back. Do refuses the path that creates withdrawals in every spelling.
//
// target is the path and query below the base URL. body is sent as JSON; with nil, no body is sent. If Do
// refuses to send the request, the error is an *InvalidError or ErrUseCreate. Do does not check the answer,
// which may not be JSON.
func (c *Client) Do(ctx context.Context, method, target string, body json.RawMessage) ([]byte, error) {
	u, err := c.parseTarget(method, target)
	if err == nil && method == http.MethodGet && body != nil {
		err = invalid("body", "a GET is sent without one")
	}
	if err != nil {
		return nil, err
	}
	r := request{op: method + " " + u.EscapedPath(), method: method, path: u.EscapedPath(), query: u.RawQuery,
		create: !isRead(method, target)}
	if body != nil {
		r.body = body
	}
	return c.exchange(ctx, r)
}

// Reads reports whether Do sends a request as a read. It refuses what Do refuses.
func (c *Client) Reads(method, target string) (bool, error) {
	_, err := c.parseTarget(method, target)
	return err == nil && isRead(method, target), err
}

// parseTarget refuses requests that Do does not send.
func (c *Client) parseTarget(method, target string) (*url.URL, error) {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return nil, invalid("method", "%q is not one of GET, POST, PUT, PATCH, DELETE", method)
	}
	u, err := url.Parse(target)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(target, "/") {
		return nil, invalid("path", "%q is not a path below the base URL, such as /api/invites", target)
	}
	if strings.Contains(target, "#") {
		return nil, invalid("path", "%q has a fragment: leave it out", target)
	}
	if strings.Contains(target, " ") {
		return nil, invalid("path", "%q has a space in it: write it as %%20", target)
	}
	if createsWithdrawal(c.base + u.EscapedPath()) {
		return nil, ErrUseCreate
	}
	return u, nil
}

// isRead reports whether a request to a path of the service changes nothing, according to the interface.
func isRead(method, target string) bool {
	lists := []string{"/api/merchant_withdrawal/list", "/api/reseller/withdraw/list", "/api/reseller/invoice/list"}
	p, _, _ := strings.Cut(target, "?")
	return method == http.MethodGet || method == http.MethodPost && slices.Contains(lists, p)
}

// createsWithdrawal recognizes the path in every spelling. It is not known how a server or a proxy treats
// percent signs, dots, double slashes, semicolons and capitals, so each is given the meaning that it might
// have.
func createsWithdrawal(target string) bool {
	for range 4 {
		target = unescape(target)
	}
	target = strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case r <= ' ' || r > '~': // a server may drop invisible characters
			return -1
		}
		return r
	}, target)
	var segments []string
	for segment := range strings.SplitSeq(target, "/") {
		if end := strings.IndexAny(segment, ";?#"); end >= 0 {
			segment = segment[:end]
		}
		if bare := strings.TrimRight(segment, "."); bare != "" {
			segment = bare
		}
		segments = append(segments, segment)
	}
	clean := path.Clean("/" + strings.ToLower(strings.Join(segments, "/")))
	return strings.Contains(clean+"/", "/merchant_withdrawal/create/")
}

// unescape decodes every percent escape that it can, and leaves the others unchanged.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
