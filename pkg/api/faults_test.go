package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// TestNoFaultSendsACreateTwice tests every fault of the sandbox once: the outcome of a create, whether it was
// carried out, and the result of a read, which may be retried. It checks that no create is sent twice.
func TestNoFaultSendsACreateTwice(t *testing.T) {
	for _, tt := range []struct {
		do      string
		outcome Outcome // of a create
		fine    bool    // it succeeds and returns the id
		made    int
		status  int
		reads   int64   // how many requests a read makes
		read    Outcome // 0: it succeeds in the end
	}{
		{do: "refuse", outcome: Unknown, reads: 2},
		{do: "drop-before", outcome: Unknown, reads: 2},
		{do: "drop-after", outcome: Unknown, made: 1, reads: 2},
		{do: "truncate", outcome: Unknown, made: 1, reads: 2},
		{do: "delay=1ms", fine: true, made: 1, reads: 1},
		{do: "status=503", outcome: Unknown, status: 503, reads: 2},
		{do: "status=503,bare", outcome: Unknown, status: 503, reads: 2},
		{do: "status=429", outcome: Rejected, status: 429, reads: 2},
		{do: "status=429,bare", outcome: Unknown, status: 429, reads: 2},
		{do: "status=500", outcome: Unknown, status: 500, reads: 1, read: Failed},
		{do: "status=422", outcome: Rejected, status: 422, reads: 1, read: Rejected},
		{do: "status=422,bare", outcome: Unknown, status: 422, reads: 1, read: Failed},
		{do: "status=401", outcome: Rejected, status: 401, reads: 1, read: Rejected},
		{do: "status=409", outcome: Unknown, status: 409, reads: 1, read: Rejected},
		{do: "status=200", outcome: Unknown, status: 200, reads: 1, read: Failed},
		{do: "status=204", outcome: Unknown, status: 204, reads: 1, read: Failed},
		{do: "status=307", outcome: Unknown, status: 307, reads: 1, read: Failed},
		{do: "deliver-twice", fine: true, made: 2, reads: 1},
		{do: "body", outcome: Unknown, status: 200, reads: 1, read: Failed},
		{do: "html", outcome: Unknown, status: 200, reads: 1, read: Failed},
		{do: "html=502", outcome: Unknown, status: 502, reads: 2},
	} {
		t.Run(tt.do, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			box, err := sandbox.New()
			if err != nil {
				t.Fatal(err)
			}
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				box.ServeHTTP(w, r)
			}))
			defer server.Close()
			client := must[*Client](t)(New(server.URL, WithAPIKey(box.Key())))
			must[sandbox.Fault](t)(box.AddFault(sandbox.Fault{On: "POST /api/merchant_withdrawal/create", Do: tt.do, Times: 1}))
			must[sandbox.Fault](t)(box.AddFault(sandbox.Fault{On: "POST /api/merchant_withdrawal/list", Do: tt.do, Times: 1}))

			id, err := client.Withdrawals.Create(ctx, sampleCreate())
			if tt.fine {
				if err != nil || id == "" {
					t.Errorf("the create returns %q, %v", id, err)
				}
			} else if e := failure(t, err); e.Outcome != tt.outcome || e.Status != tt.status {
				t.Errorf("the create ends in %v", err)
			}
			if wording := "the connection was closed without an answer"; tt.do == "drop-after" &&
				(!strings.Contains(err.Error(), wording) || !errors.Is(err, io.EOF)) {
				t.Errorf("the error does not say what happened: %v", err)
			}
			if n := requests.Swap(0); n != 1 {
				t.Errorf("the create is sent %d times", n)
			}

			page, err := client.Withdrawals.List(ctx, WithdrawalFilter{}, 1, 10)
			if tt.read == 0 {
				if err != nil || len(page.Items) != tt.made {
					t.Errorf("the read returns %d withdrawals, want %d; %v", len(page.Items), tt.made, err)
				}
			} else if e := failure(t, err); e.Outcome != tt.read {
				t.Errorf("the read ends in %v", err)
			}
			if n := requests.Load(); n != tt.reads {
				t.Errorf("the read is sent %d times, want %d", n, tt.reads)
			}
			if page := must[WithdrawalPage](t)(client.Withdrawals.List(ctx, WithdrawalFilter{}, 1,
				10)); len(page.Items) != tt.made {
				t.Errorf("there are %d withdrawals, want %d", len(page.Items), tt.made)
			}
		})
	}
}

type sayingNotSent struct {
	error
	is bool
}

func (e sayingNotSent) Unwrap() error { return e.error }
func (e sayingNotSent) NotSent() bool { return e.is }

// TestTransportSaysNotSent checks that another transport can say that nothing was written.
func TestTransportSaysNotSent(t *testing.T) {
	ctx := context.Background()
	refused := errors.New("nobody listens")
	for _, tt := range []struct {
		err     error
		outcome Outcome
	}{
		{sayingNotSent{refused, true}, NotSent},
		{errors.Join(errors.New("first"), sayingNotSent{refused, true}), NotSent},
		{sayingNotSent{refused, false}, Unknown},
		{refused, Unknown},
	} {
		client := must[*Client](t)(New("http://127.0.0.1", WithRetries(0),
			WithTransport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, tt.err }))))
		_, err := client.Withdrawals.Create(ctx, sampleCreate())
		if e := failure(t, err); e.Outcome != tt.outcome || !errors.Is(err, refused) {
			t.Errorf("%#v: a create ends in %v", tt.err, err)
		}
		if _, err := client.Invites.List(ctx); failure(t, err).Outcome != Failed {
			t.Errorf("%#v: a read ends in %v", tt.err, err)
		}
	}
}
