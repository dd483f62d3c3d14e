package cli

import (
	"example.com/till/internal/cmdutil"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Tree returns all commands and topics with their help. It is for the man pages, which are made when till is
// built. The commands cannot be run.
func Tree() *cobra.Command {
	tree := root(&cmdutil.App{IO: cmdutil.IO{Environ: func() []string { return nil }}})
	nameFlags(tree)
	return tree
}

// nameFlags makes the flags of a tree that is not run say what they take.
func nameFlags(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(nameFlag)
	}
	for _, child := range cmd.Commands() {
		nameFlags(child)
	}
}
