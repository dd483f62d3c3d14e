package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Resellers has the calls that inspect the merchant's resellers. The interface does not show whether they
// need the key: they send it unless WithoutResellerAuth is set.
type Resellers struct{ client *Client }

// Reseller sells in the merchant's name and earns rebates.
type Reseller struct {
	ID         string  `json:"id"` // UUID
	InviteInfo Invite  `json:"invite_info"`
	Rebates    Rebates `json:"rebates"`

	source `json:"-"`
}

// Rebates are amounts by currency code, in the order in which the service wrote them.
type Rebates []Rebate

// Rebate is one entry of Rebates. In JSON it is an object with one key: {"Usd":{"Fiat":{"USD":5}}}.
type Rebate struct {
	Code   string // the key
	Amount Amount
}

// MarshalJSON writes the one-key object.
func (r Rebate) MarshalJSON() ([]byte, error) { return object(r) }

func (r Rebate) entry() (string, any) { return r.Code, r.Amount }

// UnmarshalJSON reads the one-key object and refuses anything else.
func (r *Rebate) UnmarshalJSON(b []byte) error { return one[Rebates](b, r) }

// MarshalJSON writes the object from code to Amount.
func (r Rebates) MarshalJSON() ([]byte, error) { return object(r...) }

// UnmarshalJSON reads the object from code to Amount.
func (r *Rebates) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

func (v *Rebates) read(r *reader) error {
	return entries(r, v, func(rebate *Rebate, code string) error {
		rebate.Code = code
		return rebate.Amount.read(r)
	})
}

// MarshalJSON writes the text of RawJSON, or the fields if there is none or they were changed.
func (r Reseller) MarshalJSON() ([]byte, error) {
	fields := resellerFields(r)
	fields.InviteInfo.raw = nil
	return marshal(r, r.raw, fields)
}

// UnmarshalJSON reads what Info reads, and keeps the text for RawJSON.
func (r *Reseller) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

type resellerFields Reseller // without the methods

func (v *Reseller) read(r *reader) error {
	err := r.record(&v.source, member{"id", &v.ID, true}, member{"invite_info", v.InviteInfo.members(), false},
		member{"rebates", &v.Rebates, false})
	if err == nil {
		err = CheckUUID(v.ID)
	}
	return err
}

// RebateList is the answer with all rebates of a reseller: an array with one Amount for each currency.
type RebateList struct {
	Amounts []Amount
	source  `json:"-"`
}

// MarshalJSON writes the array.
func (r RebateList) MarshalJSON() ([]byte, error) { return marshal(r, r.raw, r.Amounts) }

// UnmarshalJSON reads what Resellers.Rebate reads, and keeps the text for RawJSON.
func (r *RebateList) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

func (v *RebateList) read(r *reader) error {
	start := r.InputOffset()
	err := elements(r, maxItems, &v.Amounts)
	v.raw = r.since(start)
	return err
}

// RebateMap is the answer with a reseller's rebate in one currency: an object from code to Amount.
type RebateMap struct {
	Rebates Rebates
	source  `json:"-"`
}

// MarshalJSON writes the object from code to Amount.
func (r RebateMap) MarshalJSON() ([]byte, error) { return marshal(r, r.raw, r.Rebates) }

// UnmarshalJSON reads what RebateIn reads, and keeps the text for RawJSON.
func (r *RebateMap) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

func (v *RebateMap) read(r *reader) error {
	start := r.InputOffset()
	err := v.Rebates.read(r)
	v.raw = r.since(start)
	return err
}

// resellers is the object from reseller id to Reseller.
type resellers []Reseller

func (v *resellers) read(r *reader) error {
	return entries(r, v, func(one *Reseller, id string) error {
		err := one.read(r)
		if err == nil && one.ID != id {
			err = fmt.Errorf("reseller %q stands under the key %q", one.ID, id)
		}
		return err
	})
}

// get returns a request about one reseller.
func (s *Resellers) get(op, path, id string, more ...param) request {
	return get(op, path, append([]param{uuidParam("id", id)}, more...)...).ofReseller()
}

// List returns all resellers, in the order in which the service wrote them.
//
// GET /api/resellers (section 4.4)
func (s *Resellers) List(ctx context.Context) ([]Reseller, error) {
	return call[resellers](ctx, s.client, get("list resellers", "/api/resellers").ofReseller())
}

// IDs returns the UUIDs of all resellers.
//
// GET /api/resellers/ids (section 4.4)
func (s *Resellers) IDs(ctx context.Context) ([]string, error) {
	return call[uuids](ctx, s.client, get("list the ids of resellers", "/api/resellers/ids").ofReseller())
}

type uuids []string

func (v *uuids) read(r *reader) error {
	*v = uuids{}
	return r.eachElement(maxItems, func() error {
		id, err := r.nonEmptyText()
		if err != nil {
			return err
		}
		*v = append(*v, id)
		return CheckUUID(id)
	})
}

// Info returns one reseller.
//
// GET /api/reseller/info (section 4.4)
func (s *Resellers) Info(ctx context.Context, id string) (Reseller, error) {
	return call[Reseller](ctx, s.client, s.get("get reseller", "/api/reseller/info", id))
}

// Invite returns the invite through which the reseller joined.
//
// GET /api/reseller/invite (section 4.4)
func (s *Resellers) Invite(ctx context.Context, id string) (Invite, error) {
	return call[Invite](ctx, s.client, s.get("get the invite of reseller", "/api/reseller/invite", id))
}

// Stats returns the reseller's statistics over all time.
//
// GET /api/reseller/stats (section 4.4)
func (s *Resellers) Stats(ctx context.Context, id string) (ResellerStats, error) {
	return call[ResellerStats](ctx, s.client, s.get("get the statistics of reseller", "/api/reseller/stats", id))
}

// Withdrawals returns one page of the reseller's withdrawals.
//
// POST /api/reseller/withdraw/list (section 4.5)
func (s *Resellers) Withdrawals(
	ctx context.Context, id string, filter WithdrawalFilter, page, pageSize int,
) (WithdrawalPage, error) {
	return call[WithdrawalPage](ctx, s.client, listOfReseller(id, filter, page, pageSize))
}

func listOfReseller(id string, filter WithdrawalFilter, page, size int) request {
	return post("list the withdrawals of reseller", "/api/reseller/withdraw/list", filter,
		uuidParam("id", id), pageParam(page), sizeParam(size)).ofReseller()
}

// AllWithdrawals reads every page of the reseller's withdrawals, as Withdrawals.All does.
func (s *Resellers) AllWithdrawals(
	ctx context.Context, id string, filter WithdrawalFilter, opts ListOptions,
) iter.Seq2[Withdrawal, error] {
	return s.client.all(ctx, filter, opts, func(filter WithdrawalFilter, page, size int) request {
		return listOfReseller(id, filter, page, size)
	})
}

// Withdrawal returns one of the reseller's withdrawals.
//
// GET /api/reseller/withdraw (section 4.5)
func (s *Resellers) Withdrawal(ctx context.Context, id, withdrawal string) (Withdrawal, error) {
	return call[Withdrawal](ctx, s.client,
		s.get("get a withdrawal of reseller", "/api/reseller/withdraw", id, textParam("withdraw", withdrawal)))
}

// Balance returns the reseller's balances. The interface does not show their format.
//
// GET /api/reseller/balance (section 4.6)
func (s *Resellers) Balance(ctx context.Context, id string) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, s.client, s.get("get the balance of reseller", "/api/reseller/balance", id))
}

// BalanceIn returns the reseller's balance in one currency. The interface does not show its format, nor the
// type and meaning of include_fiat: it is sent as given, and left out if empty.
//
// GET /api/reseller/balance/currency (section 4.6)
func (s *Resellers) BalanceIn(ctx context.Context, id, currency, includeFiat string) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, s.client,
		s.get("get the balance of reseller", "/api/reseller/balance/currency", id, textParam("currency", currency),
			param{"include_fiat", includeFiat, nil}))
}

// Rebate returns the reseller's rebates, one amount for each currency.
//
// GET /api/reseller/rebate (section 4.6)
func (s *Resellers) Rebate(ctx context.Context, id string) (RebateList, error) {
	return call[RebateList](ctx, s.client, s.get("get the rebates of reseller", "/api/reseller/rebate", id))
}

// RebateIn returns the reseller's rebate in one currency.
//
// GET /api/reseller/rebate/currency (section 4.6)
func (s *Resellers) RebateIn(ctx context.Context, id, currency string) (RebateMap, error) {
	return call[RebateMap](ctx, s.client,
		s.get("get the rebate of reseller", "/api/reseller/rebate/currency", id, textParam("currency", currency)))
}

// Invoices returns one page of the service's list of the reseller's invoices. The interface does not show the
// format of the filter or of the answer: the filter is sent as given, or as {} if it is empty, and the answer
// is returned as it came.
//
// POST /api/reseller/invoice/list (section 4.7)
func (s *Resellers) Invoices(
	ctx context.Context, id string, filter json.RawMessage, page, pageSize int,
) (json.RawMessage, error) {
	if len(filter) == 0 {
		filter = json.RawMessage("{}")
	}
	r := post("list the invoices of reseller", "/api/reseller/invoice/list", filter,
		uuidParam("id", id), pageParam(page), sizeParam(pageSize)).ofReseller()
	if value := jsontext.Value(filter); r.err == nil && (!value.IsValid() || value.Kind() != '{') {
		r.err = invalid("filter", "it is not a JSON object")
	}
	return call[json.RawMessage](ctx, s.client, r)
}

// FirstInvoices returns the first page of the list that Invoices reads. With PageBaseAuto it asks for page 0
// and, if that is refused or has no records, for page 1. A pageSize of 0 means DefaultPageSize.
func (s *Resellers) FirstInvoices(
	ctx context.Context, id string, filter json.RawMessage, first PageBase, pageSize int,
) (json.RawMessage, error) {
	_, page, err := firstPage(first, func(page int) (json.RawMessage, error) {
		return s.Invoices(ctx, id, filter, page, cmp.Or(pageSize, DefaultPageSize))
	}, hasNoRecords)
	return page, err
}

// hasNoRecords reports whether an answer of unknown format has no records: neither an array with elements
// nor, without any array, an object with keys inside the outer object.
func hasNoRecords(answer json.RawMessage) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(answer))
	arrays, objects := false, false
	for {
		token, err := dec.ReadToken()
		if err != nil { // the end, because the answer is valid JSON
			return arrays || !objects
		}
		switch token.Kind() {
		case '[':
			if dec.PeekKind() != ']' {
				return false
			}
			arrays = true
		case '{':
			objects = objects || dec.StackDepth() > 1 && dec.PeekKind() != '}'
		}
	}
}

// Invoice returns one of the reseller's invoices.
//
// GET /api/reseller/invoice (section 4.7)
func (s *Resellers) Invoice(ctx context.Context, id, invoice string) (Invoice, error) {
	return call[Invoice](ctx, s.client,
		s.get("get an invoice of reseller", "/api/reseller/invoice", id, uuidParam("invoice", invoice)))
}

// InvoiceFinished reports whether one of the reseller's invoices is finished.
//
// GET /api/reseller/invoice/finished (section 4.7)
func (s *Resellers) InvoiceFinished(ctx context.Context, id, invoice string) (bool, error) {
	return call[bool](ctx, s.client,
		s.get("ask whether an invoice is finished of reseller", "/api/reseller/invoice/finished", id,
			uuidParam("invoice", invoice)))
}
