package invoice

import (
	"context"
	"crypto/rand"
	"fmt"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

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
