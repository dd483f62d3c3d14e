package cli

import (
	"strings"

	"example.com/till/internal/cmd/api"
	"example.com/till/internal/cmd/config"
	"example.com/till/internal/cmd/invoice"
	"example.com/till/internal/cmd/journal"
	"example.com/till/internal/cmd/payout"
	"example.com/till/internal/cmd/reseller"
	"example.com/till/internal/cmd/sandbox"
	"example.com/till/internal/cmd/withdraw"
	"example.com/till/internal/cmdutil"
	"github.com/spf13/cobra"
)

// commandGroups returns the names of all commands by what they are for, as the first screen shows them.
func commandGroups() []struct{ title, commands string } {
	return []struct{ title, commands string }{
		{"Pay out", "withdraw payout journal"},
		{"Invoices", "invoice"},
		{"Resellers", "reseller invite"},
		{"Testing", "sandbox callback"},
		{"Set-up", "profile auth service currency config completion version"},
		{"Other", "api schema commands"},
	}
}

// commands returns the builders of the commands and topics that the arguments name, or of all of them.
func commands(args []string) map[string]func(*cmdutil.App) *cobra.Command {
	all := map[string]func(*cmdutil.App) *cobra.Command{
		"withdraw": withdraw.Command, "invoice": invoice.Command, "invite": invoice.InviteCommand,
		"reseller": reseller.Command, "payout": payout.Command, "api": api.Command,
		"sandbox": sandbox.Command, "callback": sandbox.CallbackCommand, "journal": journal.Command,
		"profile": config.ProfileCommand, "auth": config.AuthCommand, "currency": config.CurrencyCommand,
		"config": config.Command, "service": config.ServiceCommand,
		"completion": completionCommand, "version": versionCommand, "schema": schemaCommand, "commands": commandsCommand,
	}
	for _, name := range topics() {
		all[name] = func(*cmdutil.App) *cobra.Command { return topic(name) }
	}
	named := map[string]func(*cmdutil.App) *cobra.Command{}
	for _, arg := range args {
		if arg == "help" || strings.HasPrefix(arg, cobra.ShellCompRequestCmd) {
			return all
		}
		if build, ok := all[arg]; ok {
			named[arg] = build
		}
	}
	if len(named) == 0 {
		return all
	}
	return named
}
