package sandbox

import (
	"fmt"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/period"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// sandboxTime is the time on the sandbox's clock.
type sandboxTime struct {
	Now    string `json:"now" schema:"moment"`
	Offset string `json:"offset"`
}

func sandboxTimeView(money.Registry) render.View[sandboxTime] {
	type row = sandboxTime
	return viewOf(func(t row) string { return t.Now },
		column("now", "time on the sandbox's clock", render.Text, func(t row) string { return t.Now }),
		column("offset", "how far it is ahead of this machine's clock", render.Text,
			func(t row) string { return t.Offset }))
}

func clockShowCommand(a *cmdutil.App) *cobra.Command {
	return newAnswer(a, sandboxTimeView, true, &cobra.Command{
		Use:   "show",
		Short: "Show the sandbox's time",
		Long: `Show the sandbox's time. In JSON, offset says how far it is ahead of this
machine's.`,
		Example: `  till sandbox clock show`,
		Args:    cmdutil.NoArgs,
	}, func(s *cmdutil.Session, _ []string) (answered[sandboxTime], error) {
		return ask[sandboxTime](s, "/sandbox/clock")
	})
}

func clockSetCommand(a *cmdutil.App) *cobra.Command {
	return newAnswer(a, sandboxTimeView, true, &cobra.Command{
		Use:   "set TIME",
		Short: "Set the sandbox's clock",
		Long: `Set the sandbox's clock to a time in RFC 3339, or with now to the time of this
machine. The clock continues from there; one that --clock has started stands
still there, and now is its start. What was made before keeps its times.`,
		Example: `  till sandbox clock set 2026-05-03T10:00:00Z
  till sandbox clock set now`,
		Args: cmdutil.Args("TIME"),
	}, func(s *cmdutil.Session, args []string) (answered[sandboxTime], error) {
		if _, err := time.Parse(time.RFC3339, args[0]); err != nil && args[0] != "now" {
			return answered[sandboxTime]{},
				cmdutil.UsageError(fmt.Sprintf("%q is not a time in RFC 3339", args[0]),
					"write it like 2026-05-03T10:00:00Z, or now")
		}
		return tell[sandboxTime](s, "/sandbox/clock", map[string]string{"set": args[0]})
	})
}

func clockAdvanceCommand(a *cmdutil.App) *cobra.Command {
	return newAnswer(a, sandboxTimeView, true, &cobra.Command{
		Use:   "advance DURATION",
		Short: "Advance the sandbox's clock",
		Long: `Advance the sandbox's clock by a duration such as 90s, 15m, 36h, 7d or 2w. When
the command returns, everything that the settings withdrawal_pace and
invoice_expiry cause until then has happened, each at its own time, and with a
clock that --clock has started, every callback that is due was posted, each at
its own time too.`,
		Example: `  till sandbox clock advance 36h
  till sandbox clock advance 7d`,
		Args: cmdutil.Args("DURATION"),
	}, func(s *cmdutil.Session, args []string) (answered[sandboxTime], error) {
		by, ok := period.ParseAge(args[0])
		if !ok {
			d, err := time.ParseDuration(args[0])
			by, ok = d, err == nil
		}
		if !ok || by < time.Second || by%time.Second != 0 {
			return answered[sandboxTime]{},
				cmdutil.UsageError(fmt.Sprintf("%q is not a duration of whole seconds from 1s to 36500d", args[0]),
					"write it like 90s, 15m, 36h or 7d")
		}
		return tell[sandboxTime](s, "/sandbox/clock", map[string]int64{"advance_seconds": int64(by / time.Second)})
	})
}
