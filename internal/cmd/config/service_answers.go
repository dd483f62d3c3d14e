package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// periods asks for a moment, for a period that ends before it begins, and for a time without withdrawals.
func (p *probe) periods() {
	if p.layout == "" {
		return
	}
	at := p.created(p.rows[0])
	ask := func(from, to time.Time, layout string) (api.WithdrawalPage, *api.Error) {
		return p.list(api.WithdrawalFilter{From: from.Format(layout), To: to.Format(layout)}, p.first, p.size)
	}
	moment, refused := ask(at, at, p.layout)
	if refused != nil {
		p.tell("filter_times", "", "a period in the format of the answers is refused: %s", refused.Why())
		return
	}
	if _, refused = ask(at, at, time.RFC3339); refused != nil {
		p.tell("filter_times", "layout", "a period in the format of the answers is accepted, and one like %s refused", time.RFC3339)
	} else if p.layout != time.RFC3339 {
		p.tell("filter_times", "either", "a period is accepted in the format of the answers, and in RFC 3339")
	}
	late, refused := ask(at.AddDate(100, 0, 0), at.AddDate(101, 0, 0), p.layout)
	if rowsOf(late) > 0 {
		p.tell("period", "ignored", "a period in a hundred years shows %s", cmdutil.CountOf(rowsOf(late), "withdrawal"))
		return
	}
	if refused == nil {
		p.tell("empty_page_count", strconv.FormatInt(late.PageCount, 10), "the page_count of a period without withdrawals")
	}
	if has(moment, p.rows[0]) {
		p.tell("period_end", "inclusive", "a period of one moment shows the withdrawal of that moment")
	} else {
		p.tell("period_end", "exclusive", "a period of one moment does not show the withdrawal of that moment")
	}
	if _, refused = ask(at, at.AddDate(0, 0, -1), p.layout); !p.rejected("reversed_period", refused) {
		p.tell("reversed_period", "empty", "a period that ends before it begins is accepted")
	}
}

func has(page api.WithdrawalPage, w api.Withdrawal) bool {
	return slices.ContainsFunc(page.Items, func(item api.Withdrawal) bool { return item.ID == w.ID })
}

// filters asks for currencies and statuses that do not exist, and for one that a withdrawal had before.
func (p *probe) filters() {
	got, refused := p.list(api.WithdrawalFilter{Tags: []string{"till-asks-for-no-such-status"}}, p.first, 1)
	switch {
	case p.rejected("unknown_in_filter", refused):
	case rowsOf(got) > 0:
		p.tell("unknown_in_filter", "", "a filter by a status that does not exist is ignored")
	case len(p.rows) > 0:
		p.tell("unknown_in_filter", "no_match", "a filter by a status that does not exist finds nothing")
	}
	for _, w := range p.rows {
		for _, before := range w.Statuses {
			if p.layout == "" || before.Status == w.Current {
				continue
			}
			at := p.created(w)
			got, refused := p.list(api.WithdrawalFilter{From: at.Format(p.layout), Tags: []string{before.Status},
				To: at.Add(time.Second).Format(p.layout)}, p.first, p.size)
			if refused != nil {
				return
			}
			found := "current"
			if has(got, w) {
				found = "history"
			}
			p.tell("tags_match", found, "asked for %s, for a withdrawal that has become %s", before.Status, w.Current)
			return
		}
	}
}

// requests makes list requests with more than the interface shows.
func (p *probe) requests() {
	page := fmt.Sprintf("/api/merchant_withdrawal/list?page=%d&page_size=1", p.first)
	for _, try := range []struct{ choice, path, body, accepted string }{
		{"unknown_parameters", page + "&till=1", noFilter, "ignore"},
		{"unknown_keys", page, `{"currencies":[],"tags":[],"till":1}`, "ignore"},
		{"empty_text", page, `{"currencies":[],"tags":[],"from":""}`, "absent"},
	} {
		if _, refused := p.raw(try.path, try.body); !p.rejected(try.choice, refused) {
			p.tell(try.choice, try.accepted, "a list request that has one is answered")
		}
	}
	for _, w := range p.rows {
		code := strings.ToLower(w.Currency.Code)
		if code == w.Currency.Code {
			continue
		}
		filter := api.WithdrawalFilter{Currencies: []api.Currency{{Kind: w.Currency.Kind, Code: code}}}
		if got, refused := p.list(filter, p.first, 1); refused != nil || rowsOf(got) == 0 {
			p.tell("code_case", "exact", "the filter does not know %s", code)
		} else {
			p.tell("code_case", "any", "the filter knows %s too", code)
		}
		break
	}
}

// missing asks for a withdrawal that does not exist.
func (p *probe) missing() {
	_, err := p.client.Withdrawals.Get(p.s.Ctx, "00000000-0000-4000-8000-000000000000")
	if refused := p.refusal(err); refused != nil {
		p.tell("not_found", strconv.Itoa(refused.Status), "a withdrawal that does not exist: %s", refused.Why())
	}
}

// kindOf returns what all of some texts look like: uuid, digits or text; empty if there are none.
func kindOf(texts []string) string {
	all := func(pattern string) bool {
		like := regexp.MustCompile(pattern)
		return !slices.ContainsFunc(texts, func(text string) bool { return !like.MatchString(text) })
	}
	switch {
	case len(texts) == 0:
		return ""
	case all(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`):
		return "uuid"
	case all(`^[1-9][0-9]*$`):
		return "digits"
	}
	return "text"
}

// fields says what the fields of the sample look like.
func (p *probe) fields() {
	var ids, merchants, orders []string
	var testnet, amount, memo, absent, fiat string
	for _, w := range p.rows {
		ids, merchants = append(ids, w.ID), append(merchants, w.MerchantID)
		if w.ExternalOrderID != "" {
			orders = append(orders, w.ExternalOrderID)
		}
		testnet = strconv.FormatBool(w.IsTestnet)
		if w.Amount.Kind != w.Currency.Kind {
			amount = "sent"
		}
		if bytes.Contains(w.RawJSON(), []byte(`"memo"`)) {
			memo = "yes"
		}
		if w.Callback == "" || w.ExternalOrderID == "" {
			absent = "omit"
			if bytes.Contains(w.RawJSON(), []byte(`:null`)) {
				absent = "null"
			}
		}
		if w.Currency.Kind == api.Fiat {
			fiat = strings.ToLower(string(w.Address.Kind))
		}
	}
	p.tell("id_format", kindOf(ids), "what ids look like")
	p.tell("merchant_id_format", kindOf(merchants), "what merchant_ids look like")
	if owners := len(slices.Compact(slices.Sorted(slices.Values(merchants)))); owners > 1 {
		p.tell("merchant_sees", "all", "withdrawals of %s", cmdutil.CountOf(owners, "merchant"))
	}
	p.tell("order_id_format", kindOf(orders), "what %s look like", cmdutil.CountOf(len(orders), "order id"))
	p.tell("is_testnet", testnet, "of the last withdrawal read")
	p.tell("amount_shown", amount, "whether an amount is in another currency than its withdrawal")
	p.tell("memo_shown", memo, "whether a withdrawal has a memo")
	p.tell("absent_fields", absent, "how what was not given is shown")
	p.tell("fiat_address", fiat, "the key over the address of a fiat withdrawal")
}

// sent compares the order ids of the journal with those that the list shows.
func (p *probe) sent() {
	journal, err := p.s.ExistingJournal()
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var ledger *payout.Ledger
	if err == nil {
		ledger, err = p.s.LedgerOf(journal, p.client)
	}
	if p.err = err; err != nil {
		return
	}
	shown := map[string]string{}
	for _, w := range p.rows {
		shown[w.ID] = w.ExternalOrderID
	}
	same, other := 0, ""
	for o, err := range ledger.Orders(p.s.Ctx, payout.Filter{States: []payout.State{payout.StateAccepted}}) {
		if p.err = err; err != nil {
			return
		}
		switch id, there := shown[o.ID]; {
		case there && id == o.OrderID:
			same++
		case there:
			other = fmt.Sprintf("order %s is shown as %q", o.OrderID, id)
		}
	}
	switch {
	case other != "":
		p.tell("order_ids", "changed", "%s", other)
	case same > 0:
		p.tell("order_ids", "as sent", "%s of the journal", cmdutil.CountOf(same, "payment"))
	default:
		p.tell("order_ids", "", "the list has no payment of the journal")
	}
}

// decimals says what till currency check can tell.
func (p *probe) decimals() {
	c := checker{money: p.s.Money}
	for _, w := range p.rows {
		c.withdrawal(w)
	}
	for _, r := range c.result() {
		switch {
		case r.Largest == nil:
			p.tell("decimals of "+r.Code, "", "no amount in it")
		case r.Decimals == nil:
			p.tell("decimals of "+r.Code, "", "the profile has none; the largest amount is %d", r.Largest.Minor)
		default:
			p.tell("decimals of "+r.Code, "", "the profile has %d, and reads %d as %s: compare it with the panel",
				*r.Decimals, r.Largest.Minor, r.Shown)
		}
	}
}
