package journal

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/place"
	"github.com/spf13/cobra"
)

func copyCommand(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "copy DEST",
		Short: "Write a consistent copy of the journal",
		Long: `Write a copy of the journal as it is at one moment, also while others send: to
a file that does not exist yet, or to an empty PostgreSQL database. To use the
copy in place of the journal, make sure that nobody sends with the old one any
more: two journals do not protect each other.

Copy a journal with this command or, while nobody uses it, all its files at
once: journal.db, journal.db-wal and journal.db-shm. journal.db alone lacks
what was recorded last; till notices that if it was in use or not closed.
An older copy looks the same as the journal: see till help payouts.`,
		Example: `  till journal copy journal-backup.db`,
		Args:    cmdutil.Args("DEST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.Start(cmd)
			if err != nil {
				return err
			}
			if err := s.NoDryRun("journal copy"); err != nil {
				return err
			}
			if err := place.Check(args[0]); err != nil {
				return cmdutil.UsageError("DEST: "+err.Error(), "")
			}
			if place.Redact(args[0]) != args[0] {
				return cmdutil.UsageError("DEST has a password, and a command line is public", "put the password into ~/.pgpass")
			}
			j, err := s.ExistingJournal()
			if err != nil {
				return err
			}
			if err := j.Copy(s.Ctx, args[0]); err != nil {
				return err
			}
			return s.Note("the journal is copied to %s", args[0])
		},
	}
}
