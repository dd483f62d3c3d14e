package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// ServiceCommand returns the service command.
func ServiceCommand(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("service", "Find out what the interface leaves open", serviceCheckCommand(a))
}

func serviceCheckCommand(a *cmdutil.App) *cobra.Command {
	var write bool
	cmd := cmdutil.NewCommand(a, cmdutil.List, cmdutil.StructView[finding]("choice"), &cobra.Command{
		Use:   "check",
		Short: "Find out what the service does where the interface is silent",
	}, func(s *cmdutil.Session, out cmdutil.Output[finding], _ []string) error {
		client, err := s.Client()
		p := &probe{s: s, client: client, size: api.DefaultPageSize, err: err}
		for _, step := range []func(){
			p.firstPage, p.pageSizes, p.read, p.pagesBeyond, p.times, p.histories, p.periods, p.filters, p.requests,
			p.missing, p.sent, p.resellers, p.fields, p.decimals,
		} {
			if p.err == nil {
				step()
			}
		}
		if p.err != nil {
			return p.err
		}
		if err := out.Slice(p.found); err != nil {
			return err
		}
		var settings []string
		for _, f := range p.found {
			if f.Setting != "" {
				settings = append(settings, f.Setting)
			}
		}
		return useSettings(a, s, settings, write)
	})
	cmd.Flags().BoolVar(&write, "write", false, "write the settings that it finds into the profile")
	return cmd
}

// useSettings writes settings into the profile in use, or notes how to.
func useSettings(a *cmdutil.App, s *cmdutil.Session, settings []string, write bool) error {
	switch none := s.Profile == "" || s.Profile == config.Sandbox; {
	case len(settings) == 0:
		return s.Note("the profile %s needs no other settings for what was found", s.ProfileName())
	case none && write:
		return &config.Error{Msg: "--write: no profile is in use that has settings", Advice: "type", Command: append(
			[]string{"profile", "set", "NAME", "base_url=" + cmp.Or(s.BaseURL, "https://...")}, settings...)}
	case none:
		return s.Note("the settings belong into a profile, which till profile set makes: %s", strings.Join(settings, ", "))
	case !write:
		return s.NoteCommand(append([]string{"profile", "set", s.Profile}, settings...),
			"settings for the profile %s, which --write writes:", s.Profile)
	}
	err := edit(a, s.Cmd, func(d *config.Document) error { return d.SetProfile(s.Profile, settings...) })
	if err != nil {
		return err
	}
	return s.Note("written into the profile %s: %s", s.Profile, strings.Join(settings, ", "))
}

// resellers looks at the answers about resellers and invites. What the service refuses there does not fail,
// because a merchant's key may have no right to it.
func (p *probe) resellers() {
	all, err := p.client.Resellers.List(p.s.Ctx)
	if p.unread("resellers", err) {
		return
	}
	p.tell("resellers", strconv.Itoa(len(all)), "the number of resellers in their list")
	for _, step := range []func([]api.Reseller){p.rebates, p.invites, p.balances, p.invoices} {
		if len(all) > 0 && p.err == nil {
			step(all)
		}
	}
}

// unread reports whether a call failed. An answer of the service is told, and any other error ends the check.
func (p *probe) unread(choice string, err error) bool {
	if call, is := errors.AsType[*api.Error](err); is && call.Status != 0 && !call.RateLimited() {
		p.tell(choice, "", "%v", err)
	} else {
		p.err = err
	}
	return err != nil
}

// rebates says whether rebates of 0 are shown. They are not if one reseller lacks a currency of another.
func (p *probe) rebates(all []api.Reseller) {
	codes, zero := map[string]bool{}, false
	for _, r := range all {
		for _, rebate := range r.Rebates {
			codes[rebate.Code], zero = true, zero || rebate.Amount.Minor == 0
		}
	}
	switch {
	case zero:
		p.tell("zero_amounts", "show", "a reseller has a rebate of 0")
	case slices.ContainsFunc(all, func(r api.Reseller) bool { return len(r.Rebates) < len(codes) }):
		p.tell("zero_amounts", "omit", "a reseller has no rebate in a currency in which another has one")
	default:
		p.tell("zero_amounts", "", "all resellers have rebates in the same currencies")
	}
}

func (p *probe) invites(all []api.Reseller) {
	listed, err := p.client.Invites.List(p.s.Ctx)
	if p.unread("invites_listed", err) {
		return
	}
	for _, r := range all {
		if slices.ContainsFunc(listed, func(i api.Invite) bool { return r.InviteInfo.Invite == i.Invite }) {
			p.tell("invites_listed", "all", "the list of invites has one that a reseller has redeemed")
			return
		}
	}
	p.tell("invites_listed", "open", "the list of invites has none that a reseller has redeemed")
}

// balances looks at the first reseller's balances and, in the currency of a withdrawal, at one of them.
func (p *probe) balances(all []api.Reseller) {
	answer, err := p.client.Resellers.Balance(p.s.Ctx, all[0].ID)
	p.shape("balance_record", answer, err, "list", map[string]string{"crypto": "kind", "fiat": "kind"})
	if p.err != nil || len(p.rows) == 0 {
		return
	}
	code := p.rows[0].Currency.Code
	answer, err = p.client.Resellers.BalanceIn(p.s.Ctx, all[0].ID, code, "")
	p.shape("currency_balance", answer, err, "amounts", map[string]string{"balance": "record", strings.ToLower(code): "map"})
}

func (p *probe) invoices(all []api.Reseller) {
	answer, err := p.client.Resellers.Invoices(p.s.Ctx, all[0].ID, json.RawMessage(noFilter), p.first, 1)
	p.shape("invoice_list", answer, err, "array", map[string]string{"total": "page", "page_count": "page"})
}

// shape says whether an answer is an array, or else which object it is by a key in it, in lower case.
func (p *probe) shape(choice string, answer json.RawMessage, err error, array string, objects map[string]string) {
	if p.unread(choice, err) {
		return
	}
	if bytes.HasPrefix(answer, []byte("[")) {
		p.tell(choice, array, "the answer for the first reseller is an array")
		return
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(answer, &object); err != nil { // told below
		p.tell(choice, "", "the answer for the first reseller is neither an array nor an object")
		return
	}
	found := ""
	for key := range object {
		found = cmp.Or(found, objects[strings.ToLower(key)])
	}
	keys := strings.Join(slices.Sorted(maps.Keys(object)), ", ")
	p.tell(choice, found, "the answer for the first reseller is an object with: %s", keys)
}

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
		if _, _, refused := p.raw(try.path, try.body); !p.rejected(try.choice, refused) {
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

func (p *probe) missing() {
	_, err := p.client.Withdrawals.Get(p.s.Ctx, "00000000-0000-4000-8000-000000000000")
	if refused := p.refusal(err); refused != nil {
		p.tell("not_found", strconv.Itoa(refused.Status), "a withdrawal that does not exist: %s", refused.Why())
	}
}

// kindOf returns what all of some texts look like: uuid, digits or text; empty if there are none.
func kindOf(texts []string) string {
	for _, kind := range []struct{ name, pattern string }{
		{"uuid", `(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`}, {"digits", `^[1-9][0-9]*$`}, {"text", ""},
	} {
		like := regexp.MustCompile(kind.pattern)
		if len(texts) > 0 && !slices.ContainsFunc(texts, func(text string) bool { return !like.MatchString(text) }) {
			return kind.name
		}
	}
	return ""
}

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
	p.tell("order_id_format", kindOf(orders), "what order ids look like")
	p.tell("is_testnet", testnet, "of the last withdrawal read")
	p.tell("amount_shown", amount, "whether an amount is in another currency than its withdrawal")
	p.tell("memo_shown", memo, "whether a withdrawal has a memo")
	p.tell("absent_fields", absent, "how what was not given is shown")
	p.tell("fiat_address", fiat, "the key over the address of a fiat withdrawal")
}

// sent compares the order ids of the journal with those that the list shows.
func (p *probe) sent() {
	ledger, err := p.s.LedgerFrom(p.s.ExistingJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return
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
	c := checker{money: p.s.Money, rows: map[api.Currency]*currencyCheck{}}
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
