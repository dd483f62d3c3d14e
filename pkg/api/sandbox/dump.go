package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// A dump is a whole state as one JSON value. Lists are in the order in which
// their records were made. Keys of resellers are in it as hashes only.
type dump struct {
	Format      string        `json:"format"`
	Merchant    string        `json:"merchant_id"`
	ClockAhead  int64         `json:"clock_ahead_seconds"`
	Balances    []move        `json:"balances"`
	Invites     []*invite     `json:"invites"`
	Resellers   []*reseller   `json:"resellers"`
	Invoices    []*invoice    `json:"invoices"`
	Withdrawals []*withdrawal `json:"withdrawals"`
	Deliveries  []*delivery   `json:"deliveries"`
	Swaps       []Swap        `json:"swaps"`
	Faults      []Fault       `json:"faults"`
}

const dumpFormat = "till-sandbox/1"

// Dump returns the whole state as JSON, which Restore and WithDump take back.
func (s *Server) Dump() ([]byte, error) {
	if err := s.store.refresh(); err != nil {
		return nil, err
	}
	return json.MarshalIndent(s.dump(), "", "  ")
}

func (s *Server) dump() (d dump) {
	d = dump{Format: dumpFormat, Balances: []move{}, Invites: []*invite{}, Resellers: []*reseller{}, Invoices: []*invoice{}, Withdrawals: []*withdrawal{}, Deliveries: []*delivery{}, Swaps: []Swap{}}
	s.store.read(func(st *state) {
		d.Merchant, d.ClockAhead = st.merchant, int64(st.offset/time.Second)
		for _, v := range st.inviteOrder {
			d.Invites = append(d.Invites, copied(v))
		}
		for _, id := range append([]string{st.merchant}, st.resellerIDs...) {
			if r := st.resellers[id]; r != nil {
				d.Resellers = append(d.Resellers, copied(r))
			}
			a := st.accounts[id]
			for _, b := range []book{balance, volume, rebates} {
				for _, c := range registry {
					if minor := a.books[line{b, c.Code}]; minor != 0 {
						d.Balances = append(d.Balances, move{id, b, c.Code, minor})
					}
				}
			}
			for _, v := range a.invoices {
				d.Invoices = append(d.Invoices, copied(v))
			}
			for _, w := range a.withdrawals {
				d.Withdrawals = append(d.Withdrawals, copied(w))
			}
		}
		for _, v := range st.deliveryOrder {
			free := copied(v)
			free.Holder, free.Until = "", time.Time{}
			d.Deliveries = append(d.Deliveries, free)
		}
		d.Swaps = append(d.Swaps, st.swaps...)
		d.Faults = s.faults()
	})
	return d
}

func copied[R any](r *R) *R { kept := *r; return &kept }

// Restore throws everything away and begins anew with what a dump holds. The
// state gets an identity of its own.
func (s *Server) Restore(text []byte) error {
	first, err := beginFrom(text)
	if err != nil {
		return err
	}
	return s.store.write(func(*state) (change, error) { return first, nil })
}

// beginFrom is the change that begins a state with a dump in it.
func beginFrom(text []byte) (change, error) {
	var d dump
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(&d)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("something stands after its end")
		}
	}
	if err == nil && d.Format != dumpFormat {
		err = fmt.Errorf("its format is %q, not %q", shorten(d.Format), dumpFormat)
	}
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return change{}, fail(invalidBody, "This is not the dump of a sandbox: %v; make one with till sandbox dump.", err)
	}
	offset := int64(time.Duration(d.ClockAhead) * time.Second)
	c := change{Begin: &beginning{newUUID(), d.Merchant}, Offset: &offset, Swaps: d.Swaps}
	for _, v := range d.Invites {
		c.Then = append(c.Then, change{Invite: v})
	}
	for _, r := range d.Resellers {
		c.Then = append(c.Then, change{Reseller: r})
	}
	for _, v := range d.Invoices {
		c.Then = append(c.Then, change{Invoice: v})
	}
	for _, w := range d.Withdrawals {
		c.Then = append(c.Then, change{Withdrawal: w})
	}
	for _, v := range d.Deliveries {
		c.Then = append(c.Then, change{Delivery: v})
	}
	c.Then = append(c.Then, change{Moves: d.Balances})
	for _, f := range d.Faults {
		c.Then = append(c.Then, change{Fault: &f})
	}
	return c, nil
}

// check refuses what no sandbox can have written: ids that are none or are there
// twice, references that lead nowhere, and amounts that do not fit together.
func (d *dump) check() error {
	c := checker{ids: map[string]bool{}, accounts: map[string]bool{}}
	c.want(d.ClockAhead >= -int64(maxOffset/time.Second) && d.ClockAhead <= int64(maxOffset/time.Second), "clock_ahead_seconds is more than a century")
	c.id("merchant_id", d.Merchant)
	c.accounts[d.Merchant] = true
	invites := map[string]bool{}
	for i, v := range d.Invites {
		at := fmt.Sprintf("invites[%d]", i)
		if !c.want(v != nil, "%s is null", at) {
			break
		}
		c.id(at, v.ID)
		c.times(at, v.Created)
		c.want(v.Label == "" || isPlain(v.Label), "%s has no readable label", at)
		invites[v.ID] = true
	}
	keys := map[keyHash]bool{{}: true}
	for i, r := range d.Resellers {
		at := fmt.Sprintf("resellers[%d]", i)
		if !c.want(r != nil, "%s is null", at) {
			break
		}
		c.id(at, r.ID)
		c.times(at, r.Created)
		c.want(r.Label == "" || isPlain(r.Label), "%s has no readable label", at)
		c.want(invites[r.Invite], "%s names an invite that is not there", at)
		c.want(!keys[r.Key], "%s has no key of its own", at)
		keys[r.Key], c.accounts[r.ID] = true, true
	}
	lines := map[move]bool{}
	for i, m := range d.Balances {
		at := fmt.Sprintf("balances[%d]", i)
		c.account(at, m.Account)
		c.code(at, m.Code)
		c.want(m.Book == balance || m.Book == volume || m.Book == rebates, "%s names no balance, volume or rebates", at)
		c.want(m.Delta > 0, "%s is not above 0", at)
		m.Delta = 0
		c.want(!lines[m], "%s is there twice", at)
		lines[m] = true
	}
	for i, v := range d.Invoices {
		at := fmt.Sprintf("invoices[%d]", i)
		if !c.want(v != nil, "%s is null", at) {
			break
		}
		c.id(at, v.ID)
		c.account(at, v.Account)
		c.code(at, v.Currency)
		c.times(at, v.Created)
		c.want(v.Callback == "" || isWebURL(v.Callback), "%s has a callback that is no http or https URL", at)
		c.want(v.Phase >= awaiting && v.Phase <= expired, "%s has no phase from 0 to 2", at)
		c.want(v.PaidAt.IsZero() == (v.Phase != paid), "%s is paid without a time, or the other way round", at)
		if v.Paid.Code != "" {
			c.code(at, v.Paid.Code)
			c.want(v.Phase == paid && v.Paid.Minor > 0, "%s has a payment that is not one", at)
		}
		c.want(v.Rebate >= 0 && v.Rebate <= v.payment().Minor, "%s has a rebate that is not a part of it", at)
		left := v.Total
		for _, item := range v.Items {
			minor, ok := parseInteger(item.Amount)
			c.want(ok && minor > 0 && minor <= left, "%s has items that do not add up to its total", at)
			left -= minor
		}
		c.want(left == 0 && (v.Total > 0 || len(v.Items) == 0), "%s has items that do not add up to its total", at)
	}
	withdrawals := map[string]bool{}
	for i, w := range d.Withdrawals {
		at := fmt.Sprintf("withdrawals[%d]", i)
		if !c.want(w != nil, "%s is null", at) || !c.want(len(w.Statuses) > 0, "%s has no status", at) {
			break
		}
		c.unique(at, w.ID)
		withdrawals[w.ID] = true
		c.account(at, w.Account)
		c.code(at, w.Currency)
		c.code(at, w.Amount.Code)
		c.want(w.Amount.Minor > 0 && w.Debit > 0, "%s has an amount that is not above 0", at)
		c.want(w.OrderID == "" || isPlain(w.OrderID), "%s has an order_id that cannot be read", at)
		for _, r := range w.Statuses {
			c.want(isName(r.Status), "%s has a status without a name", at)
			c.times(at, r.At)
		}
	}
	for i, v := range d.Deliveries {
		at := fmt.Sprintf("deliveries[%d]", i)
		if !c.want(v != nil, "%s is null", at) {
			break
		}
		c.id(at, v.ID)
		c.want(withdrawals[v.Withdrawal], "%s names a withdrawal that is not there", at)
		c.want(isName(v.Status), "%s has a status without a name", at)
		c.want(v.URL != "", "%s has no url", at)
		c.want(json.Valid([]byte(v.Body)), "%s has a body that is not JSON", at)
		c.want(slices.Contains(deliveryStates, v.State), "%s is in the state %q, which there is not", at, shorten(v.State))
		c.want(v.Holder == "" && v.Until.IsZero(), "%s has a holder", at)
		for _, a := range v.Attempts {
			c.times(at, a.At)
		}
	}
	for i, s := range d.Swaps {
		at := fmt.Sprintf("swaps[%d]", i)
		c.account(at, s.Account)
		c.code(at, s.From)
		c.code(at, s.To)
		c.want(s.Taken > 0 && s.Given > 0, "%s has an amount that is not above 0", at)
	}
	numbers := map[string]bool{}
	for i, f := range d.Faults {
		at := fmt.Sprintf("faults[%d]", i)
		n, ok := parseInteger(f.ID)
		c.want(ok && n > 0 && !numbers[f.ID], "%s has no number of its own as its id", at)
		numbers[f.ID] = true
		whole, err := CheckFault(f)
		c.want(err == nil, "%s is wrong: %v", at, err)
		c.want(whole.On == f.On && whole.Rate == f.Rate && f.Seed > 0, "%s lacks what it is on, its rate or its seed", at)
		c.want(f.Fired >= 0 && f.Seen >= f.Fired && (f.Times == 0 || f.Fired <= f.Times), "%s has struck more often than it can have", at)
	}
	return c.err
}

// checker keeps the first thing that is wrong.
type checker struct {
	ids, accounts map[string]bool
	err           error
}

func (c *checker) want(ok bool, format string, args ...any) bool {
	if !ok && c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	return ok
}

func (c *checker) id(at, id string) {
	uuid, ok := parseUUID(id)
	c.want(ok && uuid == id, "%s has no UUID in lower case", at)
	c.unique(at, id)
}

// unique checks an id that may be any text, as the setting id_format has it.
func (c *checker) unique(at, id string) {
	c.want(isPlain(id) && lower(id) == id, "%s has no id", at)
	c.want(!c.ids[id], "%s has the id of another", at)
	c.ids[id] = true
}

func (c *checker) account(at, id string) {
	c.want(c.accounts[id], "%s is of an account that is not there", at)
}

func (c *checker) code(at, code string) {
	c.want(byCode[code].Code == code && code != "", "%s names the currency %q, which the sandbox does not have", at, shorten(code))
}

func (c *checker) times(at string, t time.Time) {
	c.want(!t.IsZero() && t.Location() == time.UTC, "%s has no time in UTC", at)
}
