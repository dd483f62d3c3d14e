package sandbox_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestMethodErrors checks the kind of each refusal of a method of Server, so that a test can tell "not found"
// from "in the wrong status".
func TestMethodErrors(t *testing.T) {
	b := newBox(t)
	paid := b.create("/api/invoice", `{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x","amount":"100"}]}`)
	must(t, b.PayInvoice(paid))
	withdrawal := b.create(createPath, btcBody)
	invite := at(t, b.post("/api/invite", `"`+uuid("i")+`"`), "invite").(string)
	if _, _, err := b.RedeemInvite(invite, ""); err != nil {
		t.Fatal(err)
	}
	redeem := func(invite, label string) error { _, _, err := b.RedeemInvite(invite, label); return err }
	balance := func(code string) error { _, err := b.Server.Balance(code); return err }
	for name, c := range map[string]struct {
		err  error
		want sandbox.ErrorKind
	}{
		"pay, unknown":            {b.PayInvoice(uuid("none")), sandbox.NotFound},
		"pay, paid":               {b.PayInvoice(paid), sandbox.WrongStatus},
		"expire, unknown":         {b.ExpireInvoice("x"), sandbox.NotFound},
		"expire, paid":            {b.ExpireInvoice(paid), sandbox.WrongStatus},
		"advance, unknown":        {b.AdvanceWithdrawal(uuid("none"), "Processing"), sandbox.NotFound},
		"advance, no such step":   {b.AdvanceWithdrawal(withdrawal, "Completed"), sandbox.WrongStatus},
		"redeem, not a UUID":      {redeem("x", ""), sandbox.InvalidQuery},
		"redeem, not plain":       {redeem(invite, "\x00"), sandbox.InvalidQuery},
		"redeem, unknown":         {redeem(uuid("none"), ""), sandbox.NotFound},
		"redeem, used":            {redeem(invite, ""), sandbox.InviteUsed},
		"fund, unknown currency":  {b.Fund("Doge", 1), sandbox.UnknownCurrency},
		"fund, nothing":           {b.Fund("Btc", 0), sandbox.InvalidAmount},
		"fund, too much":          {b.Fund("Btc", math.MaxInt64), sandbox.AmountTooLarge},
		"balance, unknown":        {balance("Doge"), sandbox.UnknownCurrency},
		"balance, no code":        {balance(""), sandbox.UnknownCurrency},
		"resend, unknown":         {second(b.Resend(uuid("none"))), sandbox.NotFound},
		"clear, unknown":          {second(b.ClearFaults("77")), sandbox.NotFound},
		"clock, set too far":      {b.SetClock(start.AddDate(200, 0, 0)), sandbox.InvalidBody},
		"clock, advanced too far": {b.AdvanceClock(200 * 365 * 24 * time.Hour), sandbox.InvalidBody},
		"restore, no seed":        {b.Restore([]byte(`[]`)), sandbox.InvalidBody},
		"set, wrong":              {b.Set(map[string]string{"first_page": "2"}), sandbox.InvalidBody},
		"new, no seed":            {second(sandbox.New(sandbox.WithSeedJSON([]byte(`{`)))), sandbox.InvalidBody},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := errors.AsType[*sandbox.Error](c.err)
			failIf(t, !ok || got.Kind != c.want || got.Message == "",
				"got %#v, want an *Error of kind %s", c.err, c.want)
		})
	}
}

func second[T any](_ T, err error) error { return err }
