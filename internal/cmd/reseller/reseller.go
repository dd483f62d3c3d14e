// Package reseller implements the commands of resellers and the reseller report.
package reseller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/internal/orders"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

// Command returns the reseller command.
func Command(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("reseller", "Show resellers: rebates, balances, reports",
		listCommand(a), resellerIDs(a),
		aboutReseller(a, "info ID", "Show one reseller", views.Resellers, (*api.Resellers).Info),
		aboutReseller(a, "invite ID", "Show the invite that a reseller has accepted", views.Invites, (*api.Resellers).Invite),
		statsCommand(a), reportCommand(a), balanceCommand(a), rebateCommand(a),
		cmdline.Group("withdraw", "Look at a reseller's withdrawals", withdrawListCommand(a),
			oneOfReseller(a, "get ID WITHDRAWAL", "Show one of a reseller's withdrawals", views.Withdrawals,
				(*api.Resellers).Withdrawal)),
		cmdline.Group("invoice", "Look at a reseller's invoices", invoiceListCommand(a),
			oneOfReseller(a, "get ID INVOICE", "Show one of a reseller's invoices", views.Invoices, (*api.Resellers).Invoice),
			invoiceFinishedCommand(a)))
}

// findReseller returns the id of the reseller that text names by its id or its label. A label must be unique.
func findReseller(s *cmdutil.Session, client *api.Client, text string) (string, error) {
	found, err := namedResellers(s, client, []string{text})
	if err != nil {
		return "", err
	}
	return found[0].id, nil
}

// labelled returns the id of the only reseller with the label.
func labelled(all []api.Reseller, text string) (string, error) {
	var ids, labels []string
	for _, r := range all {
		labels = append(labels, r.InviteInfo.Label)
		if r.InviteInfo.Label == text {
			ids = append(ids, r.ID)
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		slices.Sort(labels)
		return "", exit.UsageError(fmt.Sprintf("no reseller has the id or label %q", text),
			strings.TrimSpace(near.Question(text, "", slices.Compact(labels))+" see"), "reseller", "list")
	}
	return "", exit.UsageError(fmt.Sprintf("%d resellers have the label %q", len(ids), text),
		"name one by its id: "+strings.Join(ids, ", "))
}

// aboutReseller returns a command that reads one thing about one reseller.
func aboutReseller[T any](
	a *cmdutil.App, use, short string, view func(money.Registry) render.View[T],
	read func(of *api.Resellers, ctx context.Context, id string) (T, error),
) *cobra.Command {
	return oneOfReseller(a, use, short, view, func(of *api.Resellers, ctx context.Context, id, _ string) (T, error) {
		return read(of, ctx, id)
	})
}

// oneOfReseller returns a command that reads one of the things that a reseller has, which its last argument names.
func oneOfReseller[T any](
	a *cmdutil.App, use, short string, view func(money.Registry) render.View[T],
	read func(of *api.Resellers, ctx context.Context, id, thing string) (T, error),
) *cobra.Command {
	return cmdutil.ReadCommand(a, view, &cobra.Command{
		Use:               use,
		Short:             short,
		ValidArgsFunction: completeResellers(a),
	}, func(s *cmdutil.Session, client *api.Client, args []string) (value T, err error) {
		id, err := findReseller(s, client, args[0])
		if err != nil {
			return value, err
		}
		return read(client.Resellers, s.Ctx, id, args[len(args)-1])
	})
}

// namedResellers returns the resellers that are named, each once, or all if none is.
func namedResellers(s *cmdutil.Session, client *api.Client, args []string) (found []namedReseller, err error) {
	var all []api.Reseller
	if len(args) == 0 || slices.ContainsFunc(args, func(text string) bool { return api.CheckUUID(text) != nil }) {
		if all, err = client.Resellers.List(s.Ctx); err != nil {
			return nil, err
		}
	}
	if len(args) == 0 {
		for _, r := range all {
			found = append(found, namedReseller{r.ID, r.InviteInfo.Label})
		}
		return found, nil
	}
	for _, text := range args {
		r := namedReseller{id: text}
		if api.CheckUUID(text) != nil {
			if r.id, err = labelled(all, text); err != nil {
				return nil, err
			}
			r.label = text
		}
		if !slices.ContainsFunc(found, func(other namedReseller) bool { return strings.EqualFold(other.id, r.id) }) {
			found = append(found, r)
		}
	}
	return found, nil
}

func listCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, views.Resellers, &cobra.Command{
		Use:   "list",
		Short: "List all resellers with their rebates",
	}, func(s *cmdutil.Session, out cmdutil.Output[api.Reseller], _ []string) error {
		client, err := s.Client()
		if err != nil {
			return err
		}
		all, err := client.Resellers.List(s.Ctx)
		if err != nil {
			return err
		}
		if out.Tabular() { // JSON has them in the service's order
			slices.SortStableFunc(all, func(a, b api.Reseller) int {
				return report.CompareLabels(a.InviteInfo.Label, a.ID, b.InviteInfo.Label, b.ID)
			})
			for _, r := range all {
				for _, sum := range r.Rebates {
					if s.Money.Decimals(sum.Amount.Code) == money.Unknown {
						s.Render.Unknown(sum.Amount.Code)
					}
				}
			}
		}
		return out.Slice(all)
	})
}

func resellerIDs(a *cmdutil.App) *cobra.Command {
	return cmdutil.ListCommand(a, idView, &cobra.Command{
		Use:   "ids",
		Short: "List the ids of all resellers",
	}, func(ctx context.Context, client *api.Client) ([]string, error) { return client.Resellers.IDs(ctx) })
}

func idView(money.Registry) render.View[string] {
	return views.Of(func(id string) string { return id }, render.Value[string](),
		render.Column[string]{Name: "id", About: "the service's id of the reseller", Cell: render.Text})
}

// completeResellers offers ids and labels. It asks the service, and offers nothing if that fails.
func completeResellers(a *cmdutil.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) (offers []string, _ cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(given) > 0 && !strings.Contains(cmd.Use, "[ID...]") {
			return nil, none
		}
		s, err := a.Start(cmd)
		if err != nil {
			return nil, none
		}
		s.Retries = 0
		client, err := s.Connect()
		if err != nil {
			return nil, none
		}
		all, _ := client.Resellers.List(s.Ctx)
		bearers := map[string]int{}
		for _, r := range all {
			bearers[r.InviteInfo.Label]++
		}
		for _, r := range all {
			label := r.InviteInfo.Label
			offers = append(offers, cmdline.WithText(r.ID, label))
			// A label that several resellers share names none of them. A label in the form of an id names
			// another reseller.
			if cmdline.Harmless(label) && bearers[label] == 1 && api.CheckUUID(label) != nil {
				offers = append(offers, label)
			}
		}
		return offers, none
	}
}

// namedReseller is the reseller of a row. Its label is empty if it was named by its id.
type namedReseller struct{ id, label string }

func (r namedReseller) named() namedReseller { return r }

// resellerColumns returns the columns that name the reseller of a row.
func resellerColumns[T any](named func(T) namedReseller) []render.Column[T] {
	return []render.Column[T]{
		{Name: "id", About: "the service's id of the reseller", Extra: true,
			Cell: func(row T) render.Cell { return render.ID(named(row).id) }},
		{Name: "label", About: "label of the reseller's invite",
			Cell: func(row T) render.Cell { r := named(row); return render.Label(r.id, r.label) }},
	}
}

func withdrawListCommand(a *cmdutil.App) *cobra.Command {
	return orders.ListCommand(a, &cobra.Command{
		Use:               "list ID",
		Short:             "List a reseller's withdrawals, the whole list or a part of it",
		ValidArgsFunction: completeResellers(a),
	}, func(s *cmdutil.Session, client *api.Client, args []string) (id string, err error) {
		return findReseller(s, client, args[0])
	})
}
