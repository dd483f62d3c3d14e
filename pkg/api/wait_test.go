package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// steps answers calls in order, and repeats the last answer. An answer is a status, or the HTTP status of an
// error.
func steps(t *testing.T, body func(status string) string, answers ...string) (client *Client, asked *int) {
	asked = new(int)
	return must[*Client](t)(New("http://127.0.0.1", WithRetries(0),
		WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			answer := answers[min(*asked, len(answers)-1)]
			*asked++
			var status int
			if n, _ := fmt.Sscanf(answer, "HTTP %d", &status); n == 1 {
				resp, err := answering(status, rejection)(r)
				if status == 429 {
					resp.Header.Set("Retry-After", "10")
				}
				return resp, err
			}
			return answering(200, body(answer))(r)
		})))), asked
}

func withdrawalIn(status string) string {
	return strings.Replace(goodRecord, `"New"`, `"`+status+`"`, 1)
}

func TestWaitFor(t *testing.T) {
	const second = time.Second
	within := func(limit time.Duration) Poll { return Poll{Timeout: limit} }
	for _, tt := range []struct {
		name    string
		answers []string
		wait    Wait // for Done, unless it says another status; a minute, unless it says another time
		asked   int
		took    time.Duration
		last    string // the returned status
		failed  bool
		err     error // in the chain of the error
		text    string
	}{
		{"there already", []string{"Done"}, Wait{}, 1, 0, "Done", false, nil, ""},
		{"in another case", []string{"New", "done"}, Wait{Status: []string{"X", "DONE"}}, 2, 2 * second, "done", false,
			nil, ""},
		{"another interval", []string{"New", "New", "Done"}, Wait{Poll: Poll{Interval: 5 * second}}, 3, 10 * second, "Done",
			false, nil, ""},
		{"outages", []string{"HTTP 500", "HTTP 503", "Done"}, Wait{}, 3, 4 * second, "Done", false, nil, ""},
		{"as long as it asks for", []string{"HTTP 429", "Done"}, Wait{}, 2, 10 * second, "Done", false, nil, ""},
		{"one to fail on", []string{"New", "Failed"}, Wait{FailOn: []string{"failed"}}, 2, 2 * second, "Failed", true, nil,
			`for w1 ended with the status "Failed"`},
		{"a key that is refused", []string{"New", "HTTP 401"}, Wait{}, 2, 2 * second, "New", false, new(Error),
			"refused the key"},
		{"an unknown id", []string{"HTTP 404"}, Wait{}, 1, 0, "", false, new(Error), `get withdrawal "w1": `},
		{"no status yet", []string{"", "Done"}, Wait{}, 2, 2 * second, "Done", false, nil, ""},
		{"no status", []string{""}, Wait{Poll: within(3 * second)}, 2, 3 * second, "", false, context.DeadlineExceeded,
			"no status"},
		{"the end of its own time", []string{"New"}, Wait{Poll: within(3 * second)}, 2, 3 * second, "New", false,
			context.DeadlineExceeded, "New"},
		{"the end of the context", []string{"New"}, Wait{}, 31, time.Minute, "New", false, context.DeadlineExceeded, "New"},
		{"a pause that is too long", []string{"New", "HTTP 429"}, Wait{Poll: within(5 * second)}, 2, 5 * second, "New", false,
			context.DeadlineExceeded, "fewer calls"},
		{"what does not pass", []string{"New", "HTTP 500"}, Wait{Poll: Poll{Passes: func(error) bool { return false }}}, 2,
			2 * second, "New", false, new(Error), "500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if tt.wait.Status == nil {
					tt.wait.Status = []string{"Done"}
				}
				client, asked := steps(t, withdrawalIn, tt.answers...)
				began := time.Now()
				w, err := client.Withdrawals.WaitFor(ctx, "w1", tt.wait)
				if took := time.Since(began); took != tt.took || *asked != tt.asked {
					t.Errorf("it asked %d times and took %s, want %d and %s", *asked, took, tt.asked, tt.took)
				}
				if w.Current != tt.last {
					t.Errorf("it returns the status %q, want %q", w.Current, tt.last)
				}
				if tt.text == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				var ended *WaitError
				if !errors.As(err, &ended) || ended.Failed != tt.failed || ended.ID != "w1" || ended.Status != tt.last ||
					!strings.Contains(err.Error(), tt.text) {
					t.Errorf("%#v: %v", ended, err)
				}
				if _, call := tt.err.(*Error); call && !errors.As(err, new(*Error)) ||
					!call && tt.err != nil && !errors.Is(err, tt.err) {
					t.Errorf("%v is not in %v", tt.err, err)
				}
			})
		})
	}
}

func TestWaitForAnInvoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := func(answer string) string {
			status, state, _ := strings.Cut(answer, "/")
			return fmt.Sprintf(`{"id":%q,"currency":{"Fiat":"Usd"},"status":%q,"state":%q}`, someID, status, state)
		}
		client, asked := steps(t, body, "Paid/open", "Awaiting/closed", "Paid/closed")
		i, err := client.Invoices.WaitFor(t.Context(), strings.ToUpper(someID),
			Wait{Status: []string{"Paid"}, State: []string{"Closed"}})
		if err != nil || i.State != "closed" || *asked != 3 {
			t.Errorf("%+v, %v after %d", i, err, *asked)
		}
		for _, wait := range []struct{ answer, status, state string }{{"/closed", "", "closed"}, {"Paid/", "Paid", ""}} {
			client, _ = steps(t, body, wait.answer)
			w := Wait{Status: strings.Fields(wait.status), State: strings.Fields(wait.state), Poll: Poll{Timeout: time.Minute}}
			if i, err := client.Invoices.WaitFor(t.Context(), someID, w); err != nil {
				t.Errorf("%+v without what is not waited for: %v", i, err)
			}
			client, _ = steps(t, body, "/")
			if _, err := client.Invoices.WaitFor(t.Context(), someID, w); err == nil || !strings.Contains(err.Error(), "has no sta") {
				t.Errorf("without what is waited for: %v", err)
			}
		}
		client, _ = steps(t, body, "Paid/broken")
		var ended *WaitError
		if _, err := client.Invoices.WaitFor(t.Context(), someID,
			Wait{Status: []string{"Done"}, FailOn: []string{"broken"}}); !errors.As(err, &ended) || !ended.Failed ||
			ended.State != "broken" {
			t.Error(err)
		}
	})
}

// TestWaitForSomethingElse checks that an answer about another id does not end the wait.
func TestWaitForSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		client, _ := steps(t, withdrawalIn, "Done")
		if w, err := client.Withdrawals.WaitFor(ctx, "w2", Wait{Status: []string{"Done"}}); err == nil || w.ID != "" ||
			!strings.Contains(err.Error(), `"w1"`) {
			t.Errorf("%+v, %v", w, err)
		}
	})
}

func TestWaitsThatAreRefused(t *testing.T) {
	client, asked := steps(t, withdrawalIn, "Done")
	done := []string{"Done"}
	for want, err := range map[string]error{
		"id":       err2(client.Withdrawals.WaitFor(t.Context(), "", Wait{Status: done})),
		"id ":      err2(client.Invoices.WaitFor(t.Context(), "w1", Wait{Status: done})),
		"state":    err2(client.Withdrawals.WaitFor(t.Context(), "w1", Wait{Status: done, State: done})),
		"status":   err2(client.Withdrawals.WaitFor(t.Context(), "w1", Wait{})),
		"interval": err2(client.Withdrawals.WaitFor(t.Context(), "w1", Wait{Status: done, Poll: Poll{Interval: -1}})),
		"timeout":  err2(client.Withdrawals.WaitFor(t.Context(), "w1", Wait{Status: done, Poll: Poll{Timeout: -1}})),
		"fail_on":  err2(client.Withdrawals.WaitFor(t.Context(), "w1", Wait{Status: done, FailOn: []string{"DONE"}})),
	} {
		field(t, want, err, strings.TrimSpace(want))
	}
	if *asked > 0 {
		t.Error("it asked the service")
	}
}
