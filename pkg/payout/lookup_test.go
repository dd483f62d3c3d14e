package payout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// TestLookupComparesTheListWithWhatWasSent checks that the list is compared with what was sent. An order was
// sent once, and is requested again with another amount. The list has the first one as it was sent. So the
// order is accepted, and the new request is refused.
func TestLookupComparesTheListWithWhatWasSent(t *testing.T) {
	ctx := context.Background()
	created := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/create") {
			created++
		}
		fmt.Fprint(w, `{"page_count":1,"total":1,"page_content":[{"id":"w-1","external_id":7,"external_order_id":"7","merchant_id":"m","currency":{"Crypto":"Btc"},
			"amount":{"Crypto":{"Btc":100}},"statuses":[],"current":"New","address":"x","is_testnet":false,"callback":""}]}`)
	}))
	defer service.Close()
	client, err := api.New(service.URL)
	ok(t, err)
	j, err := journal.Open(ctx, filepath.Join(t.TempDir(), "journal.db"), journal.Options{Now: time.Now})
	ok(t, err)
	defer j.Close()
	ledger := ledgerOf(t, j, Account{Address: service.URL, Name: "acme"})
	ok(t, ledger.Enter(ctx))
	b := &Sender{Ledger: &Ledger{ledger}, client: client, now: time.Now, skew: new(atomic.Pointer[time.Duration]),
		options: Options{FirstPage: api.PageBaseOne}}
	request := api.CreateWithdrawal{Currency: api.Currency{Kind: api.Crypto, Code: "Btc"},
		Amount: api.Amount{Kind: api.Crypto, Code: "Btc", Minor: 100}, Address: "x", ExternalOrderID: "7"}
	ticket, err := ledger.Claim(ctx, journal.Claim{OrderID: "7", Content: contentOf(request)})
	ok(t, err)
	ok(t, errorOf(ledger.Finish(ctx, ticket, journal.Outcome{Ending: order.SaidNothing})))

	other := request
	other.Amount.Minor = 200
	_, err = b.Send(ctx, other)
	if own := (*Error)(nil); !errors.As(err, &own) || own.Kind != Refused || own.Rule != RuleOrderID {
		t.Errorf("with another amount: %v, want a refusal for the order id", err)
	}
	if o, err := ledger.Order(ctx, "7"); err != nil || o.State != StateAccepted || o.ID != "w-1" || o.Amount.Minor != 100 {
		t.Errorf("the order is %+v, %v, want accepted as w-1", o, err)
	}
	if sent, err := b.Send(ctx, request); err != nil || sent.Order.ID != "w-1" || created > 0 {
		t.Errorf("as it was: %+v, %v, %d creates", sent, err, created)
	}
}
