// Package powercut has the tests of power cuts. All of it is test code.
//
// A process that is killed loses nothing that it has written. A machine that loses power also loses what was
// not synced: all of it or any part, in any order, and what it was writing at that moment is torn. The crash
// tests of e2e/torture cannot show that.
//
// A program, e2e/powercut/workload, sends withdrawals to a sandbox with a new journal: single ones, some side
// by side, and a plan with several calls at a time. The sandbox refuses some, and loses the answers to
// others, which are reconciled. The journal is closed and opened again, its log is moved into the database
// again and again, and the last process is killed. Another journal is of the first version and is migrated.
// The code of pkg/payout and internal/journal is the real one. A few patched lines (overlay_test.go) note
// what happens outside of SQLite: new directories and files, syncs of directories, and outcomes that a caller
// is told. Everything else is noted between SQLite and the files (e2e/powercut/tape): each write, change of
// size, sync and removal, in one order together with the creates that leave and the refusals that arrive. The
// tests check that the record, replayed, gives the files that are there.
//
// A state is a cut after some event and a choice of what reached the disk (states_test.go). What was synced
// before the cut did. Of the rest, the states have
//
//   - nothing, everything, each change alone, all but one, and all before one;
//   - any other set, in any order;
//   - writes torn at a sector, within a sector, with some of their sectors, with garbage in one sector, or with
//     nothing but the new size of the file;
//   - names that were made or removed, or not, if their directory was not synced since;
//   - an index of the log (-shm) that is missing, zero or garbage.
//
// In each state, check_test.go opens the journal as the next process does:
//
//   - It opens, and SQLite finds no damage.
//   - Every create that has left is known as sent, unless the service had definitely refused it.
//   - Every outcome that a caller was told is there, with the withdrawal's id.
//   - Nothing is accepted that the service has not accepted.
//   - A sender that relies on this journal alone sends none of these orders again.
//
// Some states are the beginning of another record: the program sends everything again, and the power is cut a
// second time.
//
// A disk that syncs nothing, and programs with bugs, must be found, or the tests prove nothing. States are
// drawn from a seed. A record is another one in each run, because calls run side by side, so a failed test
// keeps it for TestReplay.
//
//	go test ./e2e/powercut -v -states 10000 -seed 7
//	make prove
package powercut
