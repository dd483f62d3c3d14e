package config

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func currencyCheckCommand(a *cmdutil.App) *cobra.Command {
	var invoices []string
	var reseller string
	cmd := cmdutil.NewCommand(a, cmdutil.List, checkView, &cobra.Command{
		Use:               "check [CODE]",
		Short:             "Compare the decimals of the profile with what the service shows",
		ValidArgsFunction: a.CompleteCurrencies,
	}, func(s *cmdutil.Session, out cmdutil.Output[currencyCheck], args []string) error {
		return checkCurrencies(s, out, args, invoices, reseller)
	})
	cmd.Flags().StringArrayVar(&invoices, "invoice", nil, "look at this invoice too; may be given again")
	cmd.Flags().StringVar(&reseller, "reseller", "", "show prices by the paid invoices of this reseller, by its UUID")
	return cmd
}

func checkCurrencies(
	s *cmdutil.Session, out cmdutil.Output[currencyCheck], args, invoices []string, reseller string,
) error {
	c := checker{money: s.Money, rows: map[api.Currency]*currencyCheck{}}
	filter, err := c.choose(args)
	if err != nil {
		return err
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	if err := c.readList(s, client, filter); err != nil {
		return err
	}
	for _, id := range invoices {
		i, err := client.Invoices.Get(s.Ctx, id)
		if err != nil {
			return err
		}
		for _, item := range i.Items {
			c.amount(api.Amount{Kind: i.Currency.Kind, Code: i.Currency.Code, Minor: item.Amount}, "invoice "+i.ID)
		}
	}
	if reseller != "" {
		if err := c.prices(s.Ctx, client, reseller); err != nil {
			return err
		}
	}
	if err := out.Slice(c.result()); err != nil {
		return err
	}
	return s.NoteCommand([]string{"currency", "set", "CODE", "--decimals", "N"},
		"the service shows integers and no rates, which prove no decimals: compare an amount with the merchant panel. To change decimals:")
}

// choose makes the row of the currency that is named, or of all cryptocurrencies with decimals. It returns
// the filter for the list.
func (c *checker) choose(named []string) (filter api.WithdrawalFilter, err error) {
	if len(named) == 0 {
		for _, e := range c.money.Entries() {
			if e.Kind == api.Crypto && e.Decimals != money.Unknown {
				c.row(e.Currency())
			}
		}
		return filter, nil
	}
	only, err := c.money.ParseCurrency(named[0])
	if err != nil {
		return filter, err
	}
	if only.Kind == api.Crypto { // a withdrawal of any currency may have an amount in a fiat one
		filter.Currencies = []api.Currency{only}
	}
	c.row(only)
	c.only = true
	return filter, nil
}

// readList reads the list for lookup_timeout at most. Nothing is shown meanwhile.
func (c *checker) readList(s *cmdutil.Session, client *api.Client, filter api.WithdrawalFilter) error {
	ctx, cancel := context.WithTimeout(s.Ctx, s.LookupTimeout)
	defer cancel()
	for w, err := range client.Withdrawals.All(ctx, filter, api.ListOptions{FirstPage: s.PageBase()}) {
		if err != nil && ctx.Err() != nil && s.Ctx.Err() == nil {
			return exit.Failure(exit.ReadFailed, err,
				fmt.Sprintf("the service's list could not be read within %s (lookup_timeout)", s.LookupTimeout),
				"name one currency, or give it more time with lookup_timeout in the profile")
		}
		if err != nil {
			return err
		}
		c.withdrawal(w)
	}
	return nil
}

// currencyCheck is what the service's answers say about the decimals of a currency.
type currencyCheck struct {
	Code        string      `json:"code" column:"own: code of the currency"`
	Kind        string      `json:"kind" schema:"currency-kind"`
	Decimals    *int        `json:"decimals" column:"value: decimals of the profile; empty if unknown"`
	Amounts     int         `json:"amounts" column:"value: how many amounts the service shows in it"`
	Equivalents int         `json:"equivalents" column:"value extra: withdrawals of it with an amount in a fiat currency"`
	Largest     *api.Amount `json:"largest,omitempty"`
	Shown       string      `json:"shown,omitempty" column:"word: the same, as the profile reads it"`
	Of          string      `json:"of,omitempty" column:"text: withdrawal or invoice that has it"`
	Price       string      `json:"price,omitempty" column:"word: price of one unit, as the profile reads it"`
	PriceOf     string      `json:"price_of,omitempty"` // the invoice that was paid in it
	Finding     string      `json:"finding" schema:"currency-finding" column:"own: what this says about the decimals"`
}

type checker struct {
	money money.Registry
	only  bool                            // the rows that are there, and no others
	rows  map[api.Currency]*currencyCheck // by kind and code in small letters
}

// row returns the row of a currency or of the unit of an amount, or nil if it is not asked for.
func (c *checker) row(u api.Currency) *currencyCheck {
	key := api.Currency{Kind: u.Kind, Code: strings.ToLower(u.Code)}
	if r := c.rows[key]; r != nil || c.only {
		return r
	}
	e, known := c.money.Lookup(u.Code)
	if !known || e.Kind != u.Kind {
		e = money.Entry{Code: u.Code, Kind: u.Kind, Decimals: money.Unknown}
	}
	r := &currencyCheck{Code: e.Code, Kind: strings.ToLower(string(u.Kind))}
	if e.Decimals != money.Unknown {
		r.Decimals = &e.Decimals
	}
	c.rows[key] = r
	return r
}

func (c *checker) withdrawal(w api.Withdrawal) {
	if r := c.row(w.Currency); r != nil && w.Amount.Kind != w.Currency.Kind {
		r.Equivalents++
	}
	c.amount(w.Amount, "withdrawal "+w.ID)
}

// mostPaid is how many invoices of a reseller are read for a price.
const mostPaid = 50

// prices takes the price of one unit from invoices of a reseller that were paid in another currency.
func (c *checker) prices(ctx context.Context, client *api.Client, reseller string) error {
	stats, err := client.Resellers.Stats(ctx, reseller)
	if err != nil {
		return err
	}
	read := 0
	for _, rebate := range stats.InvoiceRebates {
		for _, paid := range rebate.PaidAmount {
			e, known := c.money.Lookup(paid.Code)
			if !known || e.Kind != api.Crypto || e.Decimals == money.Unknown || paid.Minor <= 0 {
				continue
			}
			r := c.row(e.Currency())
			if r == nil || r.Price != "" || read == mostPaid {
				continue
			}
			read++
			i, err := client.Resellers.Invoice(ctx, reseller, rebate.ID)
			if err != nil {
				return err
			}
			c.price(r, e, paid.Minor, i)
		}
	}
	return nil
}

// price takes the price of one unit of a currency from an invoice to which so much of it was paid.
func (c *checker) price(r *currencyCheck, of money.Entry, paid int64, i api.Invoice) {
	in, known := c.money.Lookup(i.Currency.Code)
	if !known || in.Decimals == money.Unknown || in.Code == of.Code {
		return
	}
	var total api.Sum
	for _, item := range i.Items {
		total.Add(item.Amount)
	}
	price, _ := new(big.Rat).SetString(money.Decimal(total.Big(), in.Decimals))
	units, _ := new(big.Rat).SetString(api.FormatDecimal(paid, of.Decimals))
	r.Price = price.Quo(price, units).FloatString(max(in.Decimals, 4)) + " " + in.Code
	r.PriceOf = "invoice " + i.ID
}

func (c *checker) amount(a api.Amount, of string) {
	r := c.row(a.Unit())
	if r == nil {
		return
	}
	if r.Amounts++; r.Largest == nil || a.Minor > r.Largest.Minor {
		r.Largest, r.Of = &a, of
		if r.Decimals != nil {
			r.Shown = c.money.Format(a)
		}
	}
}

func (c *checker) result() (all []currencyCheck) {
	for _, r := range c.rows {
		switch {
		case r.Decimals == nil:
			r.Finding = "unset"
		case r.Code == "USD": // the configuration refuses others
			r.Finding = "matches"
		case r.Amounts == 0:
			r.Finding = "unseen"
		default:
			r.Finding = "compare"
		}
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b currencyCheck) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Code, b.Code))
	})
	return all
}

func checkView(money.Registry) render.View[currencyCheck] {
	view := render.Struct[currencyCheck]("code")
	view.Columns = slices.Insert(view.Columns, 4, render.Field("largest", "largest of them, as the service counts",
		func(largest *api.Amount) render.Cell {
			if largest == nil {
				return render.Cell{}
			}
			return render.Int(largest.Minor)
		}, func(r currencyCheck) *api.Amount { return r.Largest }))
	return view
}
