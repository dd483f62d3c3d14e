package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json"
)

// Withdrawals has the calls about the merchant's withdrawals. All of them send the key.
type Withdrawals struct{ client *Client }

// Withdrawal is a payment from the merchant's balance to an external address.
type Withdrawal struct {
	ID              string   `json:"id"`
	ExternalID      int64    `json:"external_id" schema:"optional"` // the merchant's number; 0 if there is none
	MerchantID      string   `json:"merchant_id"`
	Currency        Currency `json:"currency"`
	Amount          Amount   `json:"amount"`   // may be the fiat equivalent of the withdrawn amount
	Statuses        []Status `json:"statuses"` // the history
	Current         string   `json:"current"`  // the current status; the interface shows only "New"
	Address         Address  `json:"address"`
	IsTestnet       bool     `json:"is_testnet"`
	Callback        string   `json:"callback" schema:"optional"`
	ExternalOrderID string   `json:"external_order_id" schema:"optional"` // ExternalID as a string

	source `json:"-"`
}

// Status is an entry of a withdrawal's history.
type Status struct {
	Status string `json:"status"`
	At     string `json:"at"` // as the service wrote it; the interface does not show the format
}

// UnmarshalJSON reads the object and refuses anything else.
func (s *Status) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

func (s *Status) read(r *reader) error {
	return r.object(member{"status", &s.Status, false}, member{"at", &s.At, false})
}

type statuses []Status

func (v *statuses) read(r *reader) error { return elements(r, maxItems, (*[]Status)(v)) }

// Address is the destination of a withdrawal. A single withdrawal shows it as a string, and a list as an
// object that also names the currency: {"Crypto":{"currency":"Btc","address":"..."}}. The interface shows no
// list with a withdrawal of fiat money, for which the key may be Fiat.
type Address struct {
	Text     string
	Currency string // the code, in a list; empty otherwise
	Kind     Kind   // the key, in a list; empty otherwise
}

// String returns the address itself.
func (a Address) String() string { return a.Text }

// MarshalJSON writes the form that the address was read in. An Address without a text is an error.
func (a Address) MarshalJSON() ([]byte, error) {
	switch {
	case a.Text == "":
		return nil, errors.New("address: empty")
	case a.Currency == "":
		return json.Marshal(a.Text)
	case a.Kind != Fiat:
		a.Kind = Crypto
	}
	type listed struct {
		Currency string `json:"currency"`
		Address  string `json:"address"`
	}
	return json.Marshal(map[Kind]listed{a.Kind: {a.Currency, a.Text}})
}

// UnmarshalJSON reads either form and refuses anything else.
func (a *Address) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

func (a *Address) read(r *reader) (err error) {
	if r.PeekKind() != '{' {
		a.Text, err = r.nonEmptyText()
		return err
	}
	return r.oneKey(func(key []byte) (err error) {
		if a.Kind, err = parseKind(string(key)); err != nil {
			return err
		}
		return r.object(member{"currency", &a.Currency, true}, member{"address", &a.Text, true})
	})
}

// MarshalJSON writes the text of RawJSON, or the fields if there is none or they were changed.
func (w Withdrawal) MarshalJSON() ([]byte, error) { return marshal(w, w.raw, withdrawalFields(w)) }

// UnmarshalJSON reads what Get and List read, and keeps the text for RawJSON.
func (w *Withdrawal) UnmarshalJSON(b []byte) error { return unmarshal(b, w) }

type withdrawalFields Withdrawal // without the methods

func (w *Withdrawal) members() [11]member {
	return [...]member{{"id", &w.ID, true}, {"external_id", &w.ExternalID, false}, {"merchant_id", &w.MerchantID, false},
		{"currency", &w.Currency, true}, {"amount", &w.Amount, true}, {"statuses", (*statuses)(&w.Statuses), false},
		{"current", &w.Current, false}, {"address", &w.Address, true}, {"is_testnet", &w.IsTestnet, false},
		{"callback", &w.Callback, false}, {"external_order_id", &w.ExternalOrderID, false}}
}

func (w *Withdrawal) read(r *reader) error {
	members := w.members()
	err := r.record(&w.source, members[:]...)
	if err == nil && w.Address.Kind == Fiat && w.Currency.Kind == Crypto {
		return errors.New("a withdrawal of a crypto currency with an address under Fiat")
	}
	return err
}

// CreateWithdrawal is a request for a withdrawal.
type CreateWithdrawal struct {
	// Currency is the currency to withdraw. If its balance is too low, the service swaps from other
	// currencies.
	Currency Currency `json:"currency"`
	// Amount is in minor units of Currency, or of a fiat currency whose equivalent is withdrawn.
	Amount Amount `json:"amount"`
	// Address is where the money goes.
	Address string `json:"address"`
	// Callback is a URL to which the service sends its response about the withdrawal; may be empty.
	Callback string `json:"callback,omitzero"`
	// ExternalOrderID is the merchant's own number for the withdrawal, see CheckOrderID; may be empty. The
	// service does not promise to refuse a number that it has seen before.
	ExternalOrderID string `json:"external_order_id,omitzero"`
	// Memo is the memo of the transfer. It is required for XLR and currencies based on it, see
	// Currency.MemoRequired. White space at its ends and invisible characters are refused.
	Memo string `json:"memo,omitzero"`
}

// MarshalJSON writes the body of Create's request.
func (r CreateWithdrawal) MarshalJSON() ([]byte, error) {
	return json.Marshal(createWithdrawalFields(r))
}

// UnmarshalJSON reads the body of Create's request. A currency and an amount are required; Validate checks
// the rest.
func (r *CreateWithdrawal) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

type createWithdrawalFields CreateWithdrawal // without the methods

func (c *CreateWithdrawal) read(r *reader) error {
	return r.object(member{"currency", &c.Currency, true}, member{"amount", &c.Amount, true},
		member{"address", &c.Address, false}, member{"callback", &c.Callback, false},
		member{"external_order_id", &c.ExternalOrderID, false}, member{"memo", &c.Memo, false})
}

// Validate returns an *InvalidError if the service could not carry out the request as meant.
func (r CreateWithdrawal) Validate() error {
	if err := checkUnion(r.Currency.Kind, r.Currency.Code); err != nil {
		return invalid("currency", "%v", err)
	}
	if err := checkUnion(r.Amount.Kind, r.Amount.Code); err != nil {
		return invalid("amount", "%v", err)
	}
	if r.Amount.Minor <= 0 {
		return invalid("amount", "%d is not a positive count of minor units", r.Amount.Minor)
	}
	if r.Amount.Kind == Crypto && (r.Currency.Kind != Crypto || r.Currency.Code != r.Amount.Code) {
		return invalid("amount", "it is in %s, and %s is withdrawn: write it in %s, or in a fiat currency",
			r.Amount.Code, r.Currency.Code, r.Currency.Code)
	}
	if !visibleASCII(r.Address) {
		if err := checkText("address", r.Address); err != nil {
			return err
		}
		if strings.ContainsFunc(r.Address, isBlank) {
			return invalid("address", "%q has a space in it: write the address without", r.Address)
		}
		if i := strings.IndexFunc(r.Address, isUnseen); i >= 0 { // people compare addresses letter by letter
			return invalid("address", "%q has a character at byte %d that cannot be seen: type it anew", r.Address, i)
		}
	}
	if err := checkCallback("callback", r.Callback); err != nil {
		return err
	}
	if r.ExternalOrderID != "" {
		if err := CheckOrderID(r.ExternalOrderID); err != nil {
			return invalid("external_order_id", "%v", err)
		}
	}
	return checkMemo(r.Currency, r.Memo)
}

// Create asks for a withdrawal and returns its id. Every layer of this package sends it at most once. After
// an Error with the outcome Unknown, look for the order id in the list before anything else.
//
// POST /api/merchant_withdrawal/create (section 4.1)
func (s *Withdrawals) Create(ctx context.Context, r CreateWithdrawal) (id string, err error) {
	return call[string](ctx, s.client,
		create("create the withdrawal", "/api/merchant_withdrawal/create", createWithdrawalFields(r), r.Validate()))
}

// Get returns one withdrawal.
//
// GET /api/merchant_withdrawal (section 4.1)
func (s *Withdrawals) Get(ctx context.Context, id string) (Withdrawal, error) {
	return call[Withdrawal](ctx, s.client, get("get withdrawal", "/api/merchant_withdrawal", textParam("id", id)))
}

// GetLenient is Get for a caller who must know of a record with an id that cannot be read as a withdrawal, as
// ListLenient is List. If it can be read, Err is nil.
//
// GET /api/merchant_withdrawal (section 4.1)
func (s *Withdrawals) GetLenient(ctx context.Context, id string) (u UnreadableWithdrawal, err error) {
	r := get("get withdrawal", "/api/merchant_withdrawal", textParam("id", id))
	body, err := s.client.exchange(ctx, r)
	if err == nil {
		u.Withdrawal, err = open[Withdrawal](s.client, r, body)
	}
	if err != nil && u.UnmarshalJSON(body) == nil && u.ID != "" {
		u.Err, err = err, nil
	}
	return u, err
}

// List returns one page. The interface does not show the number of the first page or the largest page size.
//
// POST /api/merchant_withdrawal/list (section 4.1)
func (s *Withdrawals) List(ctx context.Context, filter WithdrawalFilter, page, pageSize int) (WithdrawalPage, error) {
	return call[WithdrawalPage](ctx, s.client, listWithdrawals(filter, page, pageSize))
}

// ListLenient is List for a caller who must know of every record, also of one that cannot be read as a
// withdrawal: such records are in WithdrawalPage.Unreadable.
//
// POST /api/merchant_withdrawal/list (section 4.1)
func (s *Withdrawals) ListLenient(
	ctx context.Context, filter WithdrawalFilter, page, pageSize int,
) (WithdrawalPage, error) {
	got, err := call[lenientPage](ctx, s.client, listWithdrawals(filter, page, pageSize))
	for i, u := range got.Unreadable {
		got.Unreadable[i].Err = s.client.hidden(u.Err)
	}
	return got.WithdrawalPage, err
}

func listWithdrawals(filter WithdrawalFilter, page, size int) request {
	return post("list withdrawals", "/api/merchant_withdrawal/list", filter, pageParam(page), sizeParam(size))
}

// All reads every page of the list in turn. It stops after an error, yields no id twice even if rows shift
// while it reads, and takes no more memory for many pages than for a few.
func (s *Withdrawals) All(ctx context.Context, filter WithdrawalFilter, opts ListOptions) iter.Seq2[Withdrawal, error] {
	return s.client.all(ctx, filter, opts, listWithdrawals)
}

// MaxCallback is the largest body of a callback, in bytes.
const MaxCallback = 1 << 20

// ParseCallback reads the body that the service posts to a withdrawal's callback. The interface does not show
// its format. ParseCallback expects a withdrawal as Withdrawals.Get returns it, and is as strict. Any other
// body is an error, and so is one larger than MaxCallback.
//
// Nothing in a callback proves who posted it. Treat it as a hint: before acting on it, call Withdrawals.Get
// with its ID. The same callback may come twice, and a later status may come before an earlier one.
func ParseCallback(body []byte) (Withdrawal, error) {
	if len(body) > MaxCallback {
		return Withdrawal{}, fmt.Errorf("the callback: %w: more than %d bytes", ErrTooLarge, MaxCallback)
	}
	var w Withdrawal
	if err := unmarshal(body, &w); err != nil {
		return Withdrawal{}, fmt.Errorf("the callback is no withdrawal: %w", err)
	}
	return w, nil
}
