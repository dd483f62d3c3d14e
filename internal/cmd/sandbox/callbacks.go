package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"github.com/spf13/cobra"
)

func answerOf(d sandbox.Delivery) string {
	if len(d.Attempts) == 0 {
		return ""
	}
	last := d.Attempts[len(d.Attempts)-1]
	if last.Status == 0 {
		return last.Error
	}
	text := fmt.Sprint(last.Status)
	if name := http.StatusText(last.Status); name != "" {
		text += " " + name
	}
	if last.Answer != "" {
		text += ` "` + last.Answer + `"`
	}
	return text
}

func deliveryView(money.Registry) render.View[sandbox.Delivery] {
	type row = sandbox.Delivery
	return views.Of(func(d row) string { return d.ID }, render.Value[row](),
		render.Field("id", "id of the delivery", render.ID, func(d row) string { return d.ID }),
		render.Field("withdrawal", "id of the withdrawal", render.ID, func(d row) string { return d.Withdrawal }),
		render.Field("status", "status of the withdrawal that is reported", render.Word, func(d row) string { return d.Status }),
		render.Field("state", "pending, delivered, failed, refused or lost", render.Word, func(d row) string { return d.State }),
		render.Field("attempts", "how often it was posted", render.Int, func(d row) int64 { return int64(len(d.Attempts)) }),
		render.Field("answer", "what was answered to the last attempt", render.Text, answerOf),
		render.Field("url", "URL that it is posted to", render.Text, func(d row) string { return d.URL })).
		Default("id", "withdrawal", "status", "state", "attempts", "answer")
}

// advanced is a withdrawal that was moved on, with the delivery to its callback, as it is printed.
type advanced struct {
	api.Withdrawal
	Delivery *sandbox.Delivery `json:"delivery"` // nil without a callback
}

func advancedView(m money.Registry) render.View[api.Withdrawal] {
	view := views.Withdrawals(m)
	view.JSON = render.Received[advanced](api.Withdrawal.RawJSON)
	view.Columns = append(view.Columns, render.Field("delivery", "what the callback's receiver answered", render.Text,
		func(w api.Withdrawal) string {
			var more struct{ Delivery *sandbox.Delivery }
			switch err := json.Unmarshal(w.RawJSON(), &more); {
			case err != nil || more.Delivery == nil:
				return ""
			case len(more.Delivery.Attempts) == 0:
				return more.Delivery.State
			}
			return answerOf(*more.Delivery)
		}))
	return view
}

func callbacksCommand(a *cmdutil.App) *cobra.Command {
	list := callbacksListCommand(a)
	cmd := cmdline.Group("callbacks", "See what the sandbox has posted to callbacks", list, callbacksResendCommand(a))
	cmd.Annotations = maps.Clone(list.Annotations)
	cmdutil.Prints[sandbox.Delivery](a, cmdutil.List, cmd)
	refuse := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return refuse(cmd, args)
		}
		return list.RunE(cmd, args)
	}
	return cmd
}

func callbacksListCommand(a *cmdutil.App) *cobra.Command {
	var expected expectation
	cmd := newControl(a, cmdutil.List, deliveryView, &cobra.Command{
		Use:   "list",
		Short: "List what was posted to callbacks, the oldest first",
	}, func(s *cmdutil.Session, out cmdutil.Output[sandbox.Delivery], _ []string) error {
		if err := expected.check(s.Cmd); err != nil {
			return err
		}
		var rows []sandbox.Delivery
		posted := 0
		err := expected.until(s.Ctx, func() (int, error) {
			all, err := ask[[]sandbox.Delivery](s, "/sandbox/callbacks")
			rows, posted = all, 0
			for _, d := range rows {
				if d.State != "pending" {
					posted++
				}
			}
			return posted, err
		})
		if err != nil {
			return err
		}
		err = out.Slice(rows)
		if s.Cmd.Flags().Changed("expect") && int64(posted) != expected.expect {
			return exit.WithPrintError(&exit.Error{Code: exit.NotYet,
				Msg: cmdutil.CountOf(posted, "callback") + fmt.Sprintf(" posted, %d expected", expected.expect)}, err)
		}
		return err
	})
	expected.add(cmd, " that are not pending")
	return cmd
}

func callbacksResendCommand(a *cmdutil.App) *cobra.Command {
	return newAnswer(a, deliveryView, false, &cobra.Command{
		Use:   "resend DELIVERY",
		Short: "Post a callback again, and see what is answered",
	}, func(s *cmdutil.Session, args []string) (sandbox.Delivery, error) {
		d, err := tell[sandbox.Delivery](s, "/sandbox/callbacks/resend", map[string]string{"id": args[0]})
		return d, missing(err, "delivery", args[0], "sandbox", "callbacks", "list")
	})
}
