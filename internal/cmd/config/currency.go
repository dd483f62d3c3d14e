package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"github.com/spf13/cobra"
)

// CurrencyCommand returns the currency command.
func CurrencyCommand(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("currency", "Set the decimals and rules of currencies",
		currencyListCommand(a), currencySetCommand(a), currencyRemoveCommand(a), currencyCheckCommand(a))
}

func currencyListCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, cmdutil.StructView[currencyRow]("code"), &cobra.Command{
		Use:   "list",
		Short: "List the currencies that the profile in use knows",
	}, func(s *cmdutil.Session, out cmdutil.Output[currencyRow], _ []string) error {
		from := map[string]string{} // where a currency is defined last, by its code in small letters
		define := func(source string, entries []money.Entry) {
			for _, e := range entries {
				from[strings.ToLower(e.Code)] = source
			}
		}
		if s.Sandbox {
			define("sandbox", cmdutil.SandboxCurrencies())
		} else {
			define("common list", s.Common)
			define("profile "+s.Profile, s.Own)
		}
		var rows []currencyRow
		for _, e := range s.Money.Entries() {
			rows = append(rows, newCurrencyRow(e, cmp.Or(from[strings.ToLower(e.Code)], "built in")))
		}
		return out.Slice(rows)
	})
}

func currencySetCommand(a *cmdutil.App) *cobra.Command {
	cmd := changing(a, fixedCurrencies(), &cobra.Command{
		Use:               "set CODE --kind crypto|fiat --decimals N",
		Short:             "Add a currency, or change what till knows about one",
		ValidArgsFunction: a.CompleteCurrencies,
	}, func(s *cmdutil.Session, args []string) error {
		code, settings := args[0], map[string]string{}
		if known, ok := money.NewRegistry().Lookup(code); ok {
			code = known.Code // the service knows this spelling
		}
		for _, flag := range []string{"kind", "decimals", "memo", "address-format"} {
			if f := s.Cmd.Flag(flag); f.Changed {
				settings[strings.ReplaceAll(flag, "-", "_")] = f.Value.String()
			}
		}
		if format, formats := settings["address_format"], address.Formats(); format != "" && !slices.Contains(formats, format) {
			return exit.UsageError(fmt.Sprintf("--address-format: there is no format %q", format),
				cmp.Or(near.Question(format, "", formats), "write one of "+strings.Join(formats, ", ")))
		}
		if memo := s.Cmd.Flag("memo"); memo.Changed && memo.Value.String() != "required" {
			return exit.UsageError("--memo: write required", "to require none, remove the currency and set it anew",
				"currency", "remove", code)
		}
		err := edit(s.App, s.Cmd, func(d *config.Document) error { return d.SetCurrency(s.Profile, code, settings) })
		if err != nil {
			return err
		}
		s.Note("the currency %s is set in %s", code, currencyPlace(s))
		n := money.ISODecimals(code)
		if given := settings["decimals"]; n != money.Unknown && given != "" && given != strconv.Itoa(n) {
			s.Note("ISO 4217 has other decimals for %s: %d, and not %s. Compare a payment with the merchant panel: till currency check %s",
				code, n, given, code)
		}
		return nil
	})
	f := cmd.Flags()
	f.String("kind", "", "crypto or fiat; optional if the code is known")
	f.Int("decimals", 0, "how many decimals the service counts")
	f.String("memo", "", "required, if a withdrawal needs a memo")
	f.String("address-format", "", "how its addresses look, such as bitcoin")
	cmd.MarkFlagsOneRequired("kind", "decimals", "memo", "address-format")
	cmdline.OfferWords(cmd, "kind", "crypto", "fiat")
	cmdline.OfferWords(cmd, "memo", "required")
	cmdline.OfferWords(cmd, "address-format", address.Formats()...)
	return cmd
}

// fixedCurrencies names what can be used, because messages elsewhere name till currency set as the way out.
func fixedCurrencies() string {
	var codes []string
	for _, e := range cmdutil.SandboxCurrencies() {
		codes = append(codes, e.Code)
	}
	return fmt.Sprintf("the currencies of the profile sandbox cannot be changed: its service has %s only. Use these there, "+
		"with --allow-bad-address if an address is refused", strings.Join(codes, ", "))
}

func currencyPlace(s *cmdutil.Session) string {
	if s.Profile == "" {
		return "the common list"
	}
	return "the profile " + s.Profile
}

func currencyRemoveCommand(a *cmdutil.App) *cobra.Command {
	return changing(a, fixedCurrencies(), &cobra.Command{
		Use:   "remove CODE",
		Short: "Remove what till currency set has written",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			s, _ := config.Resolve(a.Input(cmd))
			if s.Profile == "" {
				s.Own = s.Common
			}
			return cmdutil.CompleteCodes(s.Own, typed), cobra.ShellCompDirectiveNoFileComp
		},
	}, func(s *cmdutil.Session, args []string) error {
		err := edit(a, s.Cmd, func(d *config.Document) error { return d.RemoveCurrency(s.Profile, args[0]) })
		if err != nil {
			return err
		}
		return s.Note("the currency %s is removed from %s", args[0], currencyPlace(s))
	})
}

type currencyRow struct {
	Code          string `json:"code" column:"own: code of the currency"`
	Kind          string `json:"kind" schema:"currency-kind" column:"own: crypto or fiat"`
	Decimals      *int   `json:"decimals" column:"value: how many decimals the service counts; empty if unknown"`
	Memo          string `json:"memo,omitempty" schema:"required" column:"own: whether a withdrawal needs a memo"`
	AddressFormat string `json:"address_format,omitempty" column:"own: format that its addresses are checked with"`
	From          string `json:"from,omitempty" column:"own: where the entry comes from"`
}

func newCurrencyRow(e money.Entry, from string) currencyRow {
	row := currencyRow{Code: e.Code, Kind: strings.ToLower(string(e.Kind)), AddressFormat: e.AddressFormat, From: from}
	if e.Decimals != money.Unknown {
		row.Decimals = &e.Decimals
	}
	if e.MemoRequired {
		row.Memo = "required"
	}
	return row
}
