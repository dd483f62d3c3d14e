// Package invoice implements the commands of invoices and invites.
package invoice

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

// Command returns the invoice command.
func Command(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("invoice", "Create invoices for customers, and wait for payment", createCommand(a),
		getCommand(a), waitCommand(a))
}

func createCommand(a *cmdutil.App) *cobra.Command {
	var req api.CreateInvoice
	var currency string
	var goods items
	var number int64
	cmd := cmdutil.NewCommand(a, cmdutil.One, cmdutil.StructView[views.Created]("id"), &cobra.Command{
		Use:   "create --title T --currency C --item NAME=AMOUNT...",
		Short: "Make an invoice and print its id",
	}, func(s *cmdutil.Session, out cmdutil.Output[views.Created], _ []string) error {
		s.Subject.OrderID = req.OrderID
		if s.Cmd.Flags().Changed("number") {
			req.Number = &number
		}
		var err error
		if req.Currency, err = s.Money.ParseCurrency(currency); err != nil {
			return fmt.Errorf("--currency: %w", err)
		}
		if req.Items, err = goods.parse(s.Money, req.Currency); err != nil {
			return err
		}
		if err := req.Validate(); err != nil {
			return err
		}
		id, err := cmdutil.Create(s, func(ctx context.Context, client *api.Client) (string, error) {
			return client.Invoices.Create(ctx, req)
		})
		if err != nil {
			return err
		}
		ids := "id " + id
		if req.OrderID != "" {
			ids += ", order id " + req.OrderID
		}
		return out.Made(views.Created{ID: id, ExternalOrderID: req.OrderID}, id,
			exit.About{ID: id, OrderID: req.OrderID}, ids)
	})
	f := cmd.Flags()
	f.StringVar(&req.Title, "title", "", "title that the customer sees")
	f.StringVar(&currency, "currency", "", "currency of the invoice, such as Usd")
	f.Func("item", "one of the goods with its price, such as Coffee=2.50; may be given again", goods.add("item"))
	f.Func("item-minor", "the same with the price in minor units, such as Coffee=250", goods.add("item-minor"))
	f.StringVar(&req.OrderID, "order-id", "", "your own identifier; a second invoice may have it too")
	f.Int64Var(&number, "number", 0, "number that the customer sees")
	f.StringVar(&req.CallbackURL, "callback-url", "",
		"where the customer's browser goes after payment; it is no notification")
	cmdline.Require(cmd, "title", "currency")
	cmd.MarkFlagsOneRequired("item", "item-minor")
	cmdline.Offer(cmd, "currency", a.CompleteCurrencies)
	return cmd
}

// items are the flags that name the goods, in the order of the command line.
type items []struct{ flag, text string }

func (i *items) add(flag string) func(string) error {
	return func(text string) error {
		*i = append(*i, struct{ flag, text string }{flag, text})
		return nil
	}
}

func (i items) parse(m money.Registry, currency api.Currency) (all []api.InvoiceItem, err error) {
	for _, item := range i {
		name, price, err := m.ParseItem(item.text, currency, item.flag == "item-minor")
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", item.flag, err)
		}
		all = append(all, api.InvoiceItem{Name: name, Amount: price.Minor})
	}
	return all, nil
}

func getCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.ReadCommand(a, views.Invoices, &cobra.Command{
		Use:   "get ID",
		Short: "Show one invoice",
	}, func(s *cmdutil.Session, client *api.Client, args []string) (api.Invoice, error) {
		s.Subject.ID = args[0]
		invoice, err := client.Invoices.Get(s.Ctx, args[0])
		if err == nil {
			err = cmdutil.AboutThis("invoice", args[0], invoice.ID)
		}
		return invoice, err
	})
}

func waitCommand(a *cmdutil.App) *cobra.Command {
	var flags cmdutil.WaitFlags
	cmd := cmdutil.ReadCommand(a, views.Invoices, &cobra.Command{
		Use:   "wait ID --status S[,S]",
		Short: "Wait until an invoice reaches a status or state",
	}, func(s *cmdutil.Session, client *api.Client, args []string) (api.Invoice, error) {
		s.Subject.ID = args[0]
		flags.Show = []string{"invoice", "get", args[0]}
		return cmdutil.Wait(s, flags, "invoice "+strings.ToLower(args[0]),
			func(ctx context.Context, wait api.Wait) (api.Invoice, error) {
				return client.Invoices.WaitFor(ctx, args[0], wait)
			})
	})
	cmdutil.AddWaitFlags(cmd, &flags)
	cmd.Flags().StringSliceVar(&flags.State, "state", nil, "states to wait for, separated by commas")
	cmd.MarkFlagsOneRequired("status", "state")
	return cmd
}

// InviteCommand returns the invite command.
func InviteCommand(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("invite", "Invite resellers", inviteListCommand(a), inviteGetCommand(a),
		inviteCreateCommand(a))
}

func inviteListCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.ListCommand(a, views.Invites, &cobra.Command{
		Use:   "list",
		Short: "List all invites",
	}, func(ctx context.Context, client *api.Client) ([]api.Invite, error) { return client.Invites.List(ctx) })
}

func inviteGetCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.ReadCommand(a, views.Invites, &cobra.Command{
		Use:   "get ID",
		Short: "Show one invite",
	}, func(s *cmdutil.Session, client *api.Client, args []string) (api.Invite, error) {
		s.Subject.ID = args[0]
		return client.Invites.Get(s.Ctx, args[0])
	})
}

func inviteCreateCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, createdInviteView, &cobra.Command{
		Use:   "create [UUID]",
		Short: "Make an invite and print its url",
	}, func(s *cmdutil.Session, out cmdutil.Output[api.Invite], args []string) error {
		uuid := randomUUID()
		if len(args) == 1 {
			uuid = args[0]
		}
		if err := api.CheckUUID(uuid); err != nil {
			return exit.UsageError(err.Error(), "leave it out for a random one")
		}
		invite, err := cmdutil.Create(s, func(ctx context.Context, client *api.Client) (api.Invite, error) {
			return client.Invites.Create(ctx, uuid)
		})
		if err != nil && exit.Explain(err).Code == exit.Unknown {
			s.Subject.ID = uuid
			return exit.Failure(exit.Unknown, err, err.Error(), "do not make it again; see whether it is there", "invite", "get", uuid)
		}
		if err != nil {
			return err
		}
		return out.Made(invite, invite.URL, exit.About{ID: invite.Invite},
			"invite "+invite.Invite+", url "+invite.URL)
	})
}

// createdInviteView shows the url as well, which the service shows only once. A table has only the url, so
// that a script can use it.
func createdInviteView(m money.Registry) render.View[api.Invite] {
	view := views.Invites(m)
	view.Columns = append(view.Columns, render.Field("url", "URL of the invite; no other command shows it", render.Text,
		func(i api.Invite) string { return i.URL }))
	return view
}

// randomUUID returns a version 4 UUID.
func randomUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
