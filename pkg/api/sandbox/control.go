package sandbox

import (
	"cmp"
	"context"
	_ "embed"
	"math"
	"slices"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/seed"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
	"go.yaml.in/yaml/v3"
)

// controls returns the routes for what lies outside the interface: the actions of a customer or of the
// service, and those that only tests need. They are the methods of Server over HTTP, below one prefix that
// the interface does not use. They require the merchant's key whatever the settings say, except the first
// two, which require none, and the third, which tells each account its id. Their times are RFC 3339.
func (s *Server) controls() []route {
	return []route{
		{"GET", "/openapi.json", openControl, s.describe},
		{"GET", "/sandbox/health", openControl, always(func() (any, error) { return map[string]string{"status": "ok"}, nil })},
		{"GET", "/sandbox/state", anyControl, s.controlState},
		{"POST", "/sandbox/fund", control, s.controlFund},
		{"POST", "/sandbox/pay", control, s.endInvoice(s.PayInvoice)},
		{"POST", "/sandbox/expire", control, s.endInvoice(s.ExpireInvoice)},
		{"POST", "/sandbox/advance", control, s.controlAdvance},
		{"GET", "/sandbox/callbacks", control, always(func() (any, error) { return s.Deliveries(), nil })},
		{"POST", "/sandbox/callbacks/resend", control, s.controlResend},
		{"POST", "/sandbox/redeem", control, s.controlRedeem},
		{"POST", "/sandbox/reset", control, s.controlReset},
		{"GET", "/sandbox/dump", control, always(func() (any, error) { return seed.DumpOf(s.store), nil })},
		{"POST", "/sandbox/restore", control, s.controlRestore},
		{"GET", "/sandbox/clock", control, always(func() (any, error) { return s.viewClock(), nil })},
		{"POST", "/sandbox/clock", control, s.controlSetClock},
		{"GET", "/sandbox/settings", control, always(func() (any, error) { return s.settings().values, nil })},
		{"POST", "/sandbox/settings", control, s.controlSet},
		{"GET", "/sandbox/faults", control, always(func() (any, error) { return s.store.ListFaults(), nil })},
		{"POST", "/sandbox/faults", control, s.controlAddFault},
		{"POST", "/sandbox/faults/clear", control, s.controlClearFaults},
		{"GET", "/sandbox/requests", control, s.controlRequests},
	}
}

const maxDump = 256 << 20

// viewState returns what names the state, and an account in it or, without one, the merchant.
func (s *Server) viewState(account string) (view map[string]string) {
	s.store.Read(func(st *store.State) {
		view = map[string]string{"id": st.ID, "merchant_id": cmp.Or(account, st.Merchant)}
	})
	return view
}

func (s *Server) controlState(r *request) action {
	return func() (any, error) { return s.viewState(r.account), nil }
}

func (s *Server) controlFund(r *request) action {
	amount := r.fields().Amount("amount")
	return func() (any, error) {
		if err := s.Fund(amount.Code, amount.Minor); err != nil {
			return nil, err
		}
		held, err := s.Balance(amount.Code)
		return wire.ViewBalanceIn(money.Amount{Code: amount.Code, Minor: held}), err
	}
}

// endInvoice takes {"invoice": id} and returns the invoice, whichever key made it.
func (s *Server) endInvoice(how func(id string) error) func(*request) action {
	return func(r *request) action {
		id := wire.Lower(r.fields().Text("invoice"))
		return func() (any, error) {
			err := how(id)
			v, _ := s.store.Invoice(id)
			return r.choices.ViewInvoice(&v), err
		}
	}
}

// advancedView is a withdrawal and the delivery to its callback, which is null if there is none.
type advancedView struct {
	wire.WithdrawalView
	Delivery *Delivery `json:"delivery"`
}

func (s *Server) controlAdvance(r *request) action {
	in := r.fields()
	id, status := wire.Lower(in.Text("withdrawal")), in.Text("status")
	return func() (any, error) {
		delivery, err := s.advance(r.http.Context(), id, status)
		if err != nil {
			return nil, err
		}
		view, err := s.withdrawalOf(r.choices, "", id)
		return advancedView{view, delivery}, err
	}
}

// redeemedView is a new reseller. It is the only view that shows the key.
type redeemedView struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Invite string `json:"invite"`
	Key    string `json:"api_key"`
}

func (s *Server) controlRedeem(r *request) action {
	in := r.fields()
	invite, label := in.Text("invite"), in.TextOr("label", "")
	return func() (any, error) {
		id, key, err := s.RedeemInvite(invite, label)
		if err != nil {
			return nil, err
		}
		return s.ofReseller(id,
			func(r *store.Reseller, _ *store.Account) any { return redeemedView{id, r.Label, r.Invite, key} })
	}
}

func (s *Server) controlReset(r *request) action {
	seed := r.fields().TextOr("seed", "")
	return func() (any, error) {
		err := s.Reset(seed)
		return s.viewState(""), err
	}
}

func (s *Server) controlRestore(r *request) action {
	return func() (any, error) {
		text, err := r.body()
		if err != nil {
			return nil, err
		}
		err = s.Restore(text)
		return s.viewState(""), err
	}
}

func (s *Server) viewClock() map[string]string {
	offset := time.Duration(s.store.Offset.Load())
	return map[string]string{"now": s.store.Now().Format(time.RFC3339), "offset": offset.Round(time.Second).String()}
}

// controlSetClock takes {"set": time} or {"advance_seconds": n}. The time "now" sets the clock to the
// machine's.
func (s *Server) controlSetClock(r *request) action {
	in, ctx := r.fields(), r.http.Context()
	var move func() error
	switch to, by := in.Has("set"), in.Has("advance_seconds"); {
	case to == by:
		in.FailAt("", "must hold either set or advance_seconds")
	case to:
		text := in.Text("set")
		at, err := time.Parse(time.RFC3339, text)
		if text != "now" && (err != nil || at.IsZero()) {
			in.FailAt("set", "is %q; it must be a time such as 2026-05-03T10:00:00Z, or now", refusal.Shorten(text))
		}
		move = func() error { return s.setClock(ctx, at) }
	default:
		n, most := in.Integer("advance_seconds"), int64(store.MaxOffset/time.Second)
		if n <= 0 || n > most {
			in.FailAt("advance_seconds", "is %d; it must be from 1 to %d", n, most)
		}
		move = func() error { return s.advanceClock(ctx, time.Duration(n)*time.Second) }
	}
	return func() (any, error) {
		err := move()
		return s.viewClock(), err
	}
}

// description is the OpenAPI description of every route. It is kept in YAML, for people, and becomes JSON
// only when somebody asks for it.
//
//go:embed openapi.yaml
var description []byte

func (s *Server) describe(r *request) action {
	return func() (any, error) {
		doc := map[string]any{}
		err := yaml.Unmarshal(description, &doc)
		doc["servers"] = []map[string]string{{"url": s.base(r.http)}}
		return doc, err
	}
}

// Now returns the sandbox's time, in whole seconds.
func (s *Server) Now() time.Time {
	s.store.Refresh()
	return s.store.Now()
}

// SetClock sets the sandbox's clock, which continues from there, or stays there if it was frozen. The
// zero time sets it back to the machine's clock, or to that of the start if it was frozen. The clock is part
// of the state, and earlier records keep their times.
func (s *Server) SetClock(to time.Time) error { return s.setClock(context.Background(), to) }

func (s *Server) setClock(ctx context.Context, to time.Time) error {
	return s.moveClock(ctx, func(_, _ time.Duration) time.Duration {
		if to.IsZero() {
			return 0
		}
		return to.Sub(s.clock())
	})
}

// AdvanceClock moves the sandbox's clock forward, or back if by is negative. It returns after the moves of
// the settings withdrawal_pace and invoice_expiry that are due by then, and with a frozen clock also after
// the attempts to post callbacks.
func (s *Server) AdvanceClock(by time.Duration) error {
	return s.advanceClock(context.Background(), by)
}

func (s *Server) advanceClock(ctx context.Context, by time.Duration) error {
	return s.moveClock(ctx, func(offset, moved time.Duration) time.Duration { return offset + by - moved })
}

// moveClock moves the clock to the offset that to returns for the current one and for how far it has moved
// the clock already. A frozen clock stops at every moment at which something is due, until its callbacks were
// posted, so that one long move does the same as many short ones.
func (s *Server) moveClock(ctx context.Context, to func(offset, moved time.Duration) time.Duration) error {
	busy := s.sender.Busy() // one of those that are told now may be the caller, and would wait for itself
	for moved := time.Duration(0); ; {
		step, more, err := s.store.MoveClock(func(offset time.Duration) time.Duration { return to(offset, moved) },
			s.frozen && ctx.Err() == nil) // without a caller that waits, it is a move like that of a clock that ticks
		if err == nil && s.frozen {
			s.sender.AwaitOthers(ctx, busy)
		}
		if err != nil || !more {
			return err
		}
		moved += step
	}
}

// Fund adds minor units of a currency to the merchant's balance.
func (s *Server) Fund(code string, minor int64) error {
	c, err := s.currency(code)
	if err != nil {
		return err
	}
	if minor <= 0 {
		return refusal.New(refusal.InvalidAmount, "The amount is %d minor units; it must be from 1 to %d.", minor,
			int64(math.MaxInt64))
	}
	return s.store.Fund(c.Code, minor)
}

// Balance returns the merchant's balance in minor units.
func (s *Server) Balance(code string) (minor int64, err error) {
	c, err := s.currency(code)
	if err != nil {
		return 0, err
	}
	err = s.read(func(st *store.State) {
		minor = st.Accounts[st.Merchant].Books[store.Line{Book: store.Balance, Code: c.Code}]
	})
	return minor, err
}

func (s *Server) currency(code string) (money.Currency, error) {
	c := money.ByCode[code]
	if !slices.Contains(s.settings().Currencies, c) {
		return c, refusal.New(refusal.UnknownCurrency, "There is no currency %q; use one of %s.",
			refusal.Shorten(code), s.settings().Known(""))
	}
	return c, nil
}

// Swaps returns every automatic swap so far, in order.
func (s *Server) Swaps() (swaps []Swap) {
	s.read(func(st *store.State) { swaps = slices.Clone(st.Swaps) })
	return swaps
}

// A Swap is one automatic exchange for a Withdrawal: Taken minor units of From became Given of To.
type Swap = store.Swap

// Kind is the kind of a currency, crypto or fiat, spelled as in the interface and in package api.
type Kind = money.Kind

// The two kinds of currency.
const (
	Crypto = money.Crypto
	Fiat   = money.Fiat
)

// A Currency is one entry of the sandbox's registry.
type Currency = money.Currency

// Currencies returns the complete registry: every currency that the sandbox knows, in the order in which an
// automatic swap uses them.
func Currencies() []Currency { return slices.Clone(money.Registry) }
