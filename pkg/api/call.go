package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-resty/resty/v2"
)

type request struct {
	op       string // what it does, as the beginning of a message
	about    string // the id that it is about, for messages; empty: none
	method   string
	path     string
	query    string // encoded
	body     any    // sent as JSON; nil: none
	create   bool   // it creates something: sent at most once
	reseller bool   // part of the reseller administration, whose authentication is not specified
	err      error  // why it cannot be sent
}

// param is a parameter of a query. One with an empty value is not sent.
type param struct {
	name, value string
	err         error // what is wrong with the value
}

func uuidParam(name, value string) param { return param{name, value, checkUUIDField(name, value)} }
func textParam(name, value string) param { return param{name, value, checkID(name, value)} }

func pageParam(page int) param {
	p := param{"page", strconv.Itoa(page), nil}
	if page < 0 {
		p.err = invalid(p.name, "%d is negative", page)
	}
	return p
}

func sizeParam(size int) param {
	p := param{"page_size", strconv.Itoa(size), nil}
	if size < 1 {
		p.err = invalid(p.name, "%d is less than 1", size)
	}
	return p
}

func get(op, path string, params ...param) request {
	r := request{op: op, method: http.MethodGet, path: path}
	var b strings.Builder
	b.Grow(64) // a UUID with its name
	for _, p := range params {
		r.err = cmp.Or(r.err, p.err)
		if p.name == "id" {
			r.about = p.value
		}
		if p.value == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.name)
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(p.value))
	}
	r.query = b.String()
	return r
}

// post returns a request that reads, as the lists with a filter do.
func post(op, path string, body any, params ...param) request {
	r := get(op, path, params...)
	r.method, r.body = http.MethodPost, body
	return r
}

// create returns a request that creates something. err says what is wrong with the body.
func create(op, path string, body any, err error) request {
	r := post(op, path, body)
	r.create, r.err = true, err
	return r
}

func (r request) ofReseller() request {
	r.reseller = true
	return r
}

func (r request) what() string {
	if r.about == "" {
		return r.op
	}
	return r.op + " " + strconv.Quote(r.about)
}

// call makes the call and decodes its answer. All methods reach the network through call or exchange.
func call[T any](ctx context.Context, c *Client, r request) (T, error) {
	body, err := c.exchange(ctx, r)
	if err != nil {
		var none T
		return none, err
	}
	return open[T](c, r, body)
}

// open decodes the body of a 200.
func open[T any](c *Client, r request, body []byte) (T, error) {
	// One at a time: decoding takes several times the memory of the text.
	if len(body) > largeAnswer {
		c.large.Lock()
		defer c.large.Unlock()
	}
	var value, none T
	if err := r.errorWith200(body); err != nil {
		return none, c.withoutKey(err)
	}
	if err := decode(body, &value); err != nil {
		if err == errMarkup {
			err = fmt.Errorf("%w%s", err, c.begins(body))
		}
		return none, c.withoutKey(r.fail(http.StatusOK, fmt.Errorf("the answer is not what it should be: %w", err)))
	}
	return value, nil
}

// errorWith200 returns the error for a 200 that carries the service's error envelope. A 200 proves no
// refusal, so a create stays unknown, with what the service says.
func (r request) errorWith200(body []byte) error {
	if !bytes.HasPrefix(bytes.TrimLeft(body, "{ \t\r\n"), []byte(`"error"`)) { // most answers need no second look
		return nil
	}
	why := "an error in a 200"
	if r.create {
		why += ", which leaves open whether it was done"
	}
	e := r.fail(http.StatusOK, errors.New(why))
	if !e.readEnvelope(body) {
		return nil
	}
	return e
}

// exchange sends the request and returns the body of a 200. Any other result is an *Error with its outcome.
func (c *Client) exchange(ctx context.Context, r request) ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	body, err := c.send(ctx, r)
	return body, c.withoutKey(err)
}

func (c *Client) send(ctx context.Context, r request) (body []byte, err error) {
	k := c.keyed()
	client, timeout := k.reads, k.readTimeout
	if r.create {
		client, timeout = k.creates, k.createTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()

	req := client.request()
	req.Header = k.headers(r.body != nil, !r.reseller || k.resellerKey)
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, invalid("request", "it cannot be written as JSON: %v", err)
		}
		req.SetBody(text)
	}
	target := c.base + r.path
	if r.query != "" {
		target += "?" + r.query
	}
	var resp *resty.Response
	outcome := Failed
	if r.create {
		sent := follow(ctx)
		resp, err = req.SetContext(sent).Execute(r.method, target)
		outcome, err = sent.judge(resp, err)
	} else {
		resp, err = retrying(req.SetContext(ctx), r.method, target, k.retries)
	}
	if err != nil {
		e := r.transportError(ctx, target, timeout, err)
		e.Outcome = outcome
		return nil, e
	}
	tellDate(ctx, resp.Header())
	got := resp.RawResponse.Body.(*answer)
	if resp.StatusCode() != http.StatusOK {
		return nil, c.refused(r, resp, got.text)
	}
	return got.text, nil
}

// retrying sends a read, and again after a pause if that is worth it. If the time ends in a pause, the last
// answer says more than the time-out does.
func retrying(req *resty.Request, method, target string, retries int) (*resty.Response, error) {
	ctx := req.Context()
	for attempt := 1; ; attempt++ {
		resp, err := req.Execute(method, target)
		asked, again := retryable(ctx, resp, err)
		if attempt > retries || !again {
			return resp, err
		}
		select {
		case <-time.After(cmp.Or(asked, fullJitter(attempt))):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				err = ctx.Err()
			}
			return resp, err
		}
	}
}

// errTimeout is the cause of a context that ended because of this package's own limit, not the caller's.
var errTimeout = errors.New("the time limit of the call")

// reworded is an error of the standard library with a more readable text.
type reworded struct {
	text string
	error
}

func (r reworded) Error() string { return r.text }
func (r reworded) Unwrap() error { return r.error }

func (r request) transportError(ctx context.Context, target string, timeout time.Duration, err error) *Error {
	if outer := new(url.Error); errors.As(err, &outer) {
		err = outer.Err // the method and the address are in the Error already
	}
	err = withProxy(err, target)
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		err = reworded{fmt.Sprintf("there was no answer within %s", timeout), context.DeadlineExceeded}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = reworded{"there was no answer in time", ctx.Err()}
	case errors.Is(ctx.Err(), context.Canceled):
		err = reworded{"the call was given up", ctx.Err()}
	case errors.Is(err, io.EOF):
		err = reworded{"the connection was closed without an answer", err}
	}
	return r.fail(0, err)
}

// fail returns the error of a call that may have taken effect if it is a create.
func (r request) fail(status int, err error) *Error {
	outcome := Failed
	if r.create {
		outcome = Unknown
	}
	return &Error{Op: r.what(), Method: r.method, Path: r.path, Outcome: outcome, Status: status, Err: err}
}

// refused returns the Error of an answer other than 200. A create is rejected only if the status says so and
// an envelope proves that the answer comes from the service itself.
func (c *Client) refused(r request, resp *resty.Response, body []byte) error {
	status := resp.StatusCode()
	e := r.fail(status, nil)
	e.RetryAfter = retryAfter(resp.Header().Get("Retry-After"), time.Now())
	e.readEnvelope(body)
	switch {
	case status >= 300 && status < 400:
		e.Err = fmt.Errorf("it answered with a redirect, which is never followed: check the base URL")
	case e.Envelope && r.rejects(status):
		e.Outcome = Rejected
	case !r.create && (status == 401 || status == 403 || status == 429):
		e.Outcome = Rejected
	case !e.Envelope:
		e.Err = fmt.Errorf("it answered without the interface's error envelope%s", c.begins(body))
	case r.create:
		e.Err = errors.New("whatever it says, such a status leaves open whether it was done")
	}
	return e
}

// rejects reports whether the status, together with a well-formed envelope, says that nothing was done.
func (r request) rejects(status int) bool {
	if !r.create {
		return status >= 400 && status < 500
	}
	switch status {
	case 400, 401, 403, 404, 405, 413, 415, 422, 429:
		return true
	}
	return false
}

func (c *Client) begins(body []byte) string {
	text := c.keyed().hide(string(body)) // before it is cut
	if text = strings.TrimSpace(text[:min(len(text), 60)]); text == "" {
		return ""
	}
	return fmt.Sprintf(", the body begins %q", strings.ToValidUTF8(text, "\uFFFD"))
}

// maxRetryAfter is the longest pause that a read waits before it tries again.
const maxRetryAfter = 30 * time.Second

// retryable reports whether to try a read again, and after which pause if the service asks for one. While the
// call has time, a time-out is the network's own.
func retryable(ctx context.Context, resp *resty.Response, err error) (pause time.Duration, again bool) {
	if err != nil {
		// Without a response, not even the request could be made.
		return 0, resp != nil && ctx.Err() == nil && !errors.Is(err, errTooLarge)
	}
	switch resp.StatusCode() {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		pause = retryAfter(resp.Header().Get("Retry-After"), time.Now())
		deadline, _ := ctx.Deadline()
		return pause, pause <= maxRetryAfter && !time.Now().Add(pause).After(deadline)
	}
	return 0, false
}

// fullJitter returns a random pause of up to 200 ms, 400 ms, 800 ms and so on, at most 5 s, so that clients
// that failed together do not come back together.
func fullJitter(attempt int) time.Duration {
	ceiling := min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)
	return 1 + rand.N(ceiling)
}

// retryAfter reads the header's seconds or date, of which at most a day counts. It returns 0 if the header
// has neither.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil || errors.Is(err, strconv.ErrRange) {
		return min(max(time.Duration(seconds), 0), 24*60*60) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), 24*time.Hour)
	}
	return 0
}

type dateKey struct{}

// ObserveDate returns a context that makes calls pass the Date header (RFC 9110) of every answer that has one
// to seen. It is for callers who must know whether their clock agrees with the service's.
func ObserveDate(ctx context.Context, seen func(time.Time)) context.Context {
	return context.WithValue(ctx, dateKey{}, seen)
}

func tellDate(ctx context.Context, header http.Header) {
	seen, _ := ctx.Value(dateKey{}).(func(time.Time))
	if seen == nil {
		return
	}
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		seen(at)
	}
}
