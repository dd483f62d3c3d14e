package cli

import (
	"example.com/till/internal/cmdutil"
	"github.com/spf13/cobra"
)

// Tree returns all commands and topics with their help. It is for the man pages, which are made when till is
// built. The commands cannot be run.
func Tree() *cobra.Command { return root(&cmdutil.App{}) }
