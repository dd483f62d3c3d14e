package journal

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/place"
	"github.com/spf13/cobra"
)

func copyCommand(a *cmdutil.App) *cobra.Command {
	return noted(a, &cobra.Command{
		Use:   "copy DEST",
		Short: "Write a consistent copy of the journal",
		Long: `Write a consistent copy of the journal, also while other processes send: to a
new file, or to an empty PostgreSQL database. Before you use the copy in place
of the journal, stop everything that sends with the old one: two journals do
not protect each other.

Copy a journal with this command or, while it is not in use, copy all its files
together: journal.db, journal.db-wal and journal.db-shm. till notices that a
journal is a copy: it looks every order up before it sends it, until till
journal check finds nothing missing. See till help guarantees.`,
		Example: `  till journal copy journal-backup.db`,
		Args:    cmdutil.Args("DEST"),
	}, func(s *cmdutil.Session, args []string) error {
		if err := s.NoDryRun("journal copy"); err != nil {
			return err
		}
		if err := place.Check(args[0]); err != nil {
			return cmdutil.UsageError("DEST: "+err.Error(), "")
		}
		if place.Redact(args[0]) != args[0] {
			return cmdutil.UsageError("DEST has a password, and other users can read a command line",
				"put the password into ~/.pgpass")
		}
		j, err := s.ExistingJournal()
		if err != nil {
			return err
		}
		if err := j.Copy(s.Ctx, args[0]); err != nil {
			return err
		}
		return s.Note("the journal is copied to %s", args[0])
	})
}
