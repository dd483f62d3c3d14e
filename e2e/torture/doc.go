// Package torture has the crash tests of withdrawals, single and in batches. All of it is test code.
//
// The tests run the real program as a separate process. It talks to a ledger in another process, which pays
// whatever it is asked to pay, as often as it is asked, and fails in every way that a service on a network
// can. The tests kill the program with SIGKILL, at random and at each important point, and run it again,
// until every withdrawal is settled. Then they compare the ledger with the journal:
//
//   - the ledger has at most one payment for an order id, and for a payment without one;
//   - the journal has every payment of the ledger, as accepted, with its id and the given fields;
//   - the ledger has every withdrawal that the journal calls accepted, and every id that was ever printed;
//   - an attempt that paid never has an exit code that says that nothing was sent;
//   - a printed id was recorded before it was printed, whatever happened next;
//   - planned and rejected orders were not paid.
//
// Each create carries the number of its attempt to the ledger, in its callback address, and what the ledger
// is to do with it. So each payment names the process that made it. Processes that run at the same time share
// a journal.
//
// Batches get the same treatment. Plans of 5 to 60 rows, some of them equal, are applied with one call at a
// time or sixteen, by one process or, with a journal in PostgreSQL, by three at once. Half of the plans have
// such a journal. The tests check everything after every step, and more must be true:
//
//   - the journal has all rows of a run or none, in the order of the plan, each with the plan's content;
//   - no process sends a row twice, none sends a row that was not to be sent, and an unknown row can only
//     become accepted, unless a person decides otherwise;
//   - each row is in the state that the table of outcomes gives for what the ledger did with it, and the exit
//     code follows from the rows;
//   - the results file is complete and agrees with the journal.
//
// A row's callback address is part of its plan, so the ledger gets its instructions for each row of each
// attempt beforehand. Every run begins with the same batches, in an order of its own. They reach each point,
// meet each fault and find each mutant, with any number of kills. The batches after them are drawn.
// TestSeveralMachines has three processes apply a longer plan while the database ends their sessions and
// restarts.
//
// The machine misbehaves as well: the record of an outcome fails, because the disk is full or breaks, or
// because the connection to the journal breaks. Clocks are wrong. A process is stopped between its record and
// the first byte.
//
// In the end each unknown order is settled, books and list agree, and a new order can be paid. What else
// happens to a journal, a plan or a list from outside, and who approves, is in package explore, in every
// order of events.
//
// To reach points inside the program, the tests build a second binary from copies of its sources with a few
// patched lines (overlay_test.go). The sources themselves know nothing of it. The same binary has mutants:
// bugs that a developer might make. These tests must find each of them, or they prove nothing.
//
// Nothing depends on the speed of the machine. The tests wait for each event until it happens, or until the
// process that should cause it has ended. Processes that must be at the same point at the same moment wait
// for each other. Each merchant has its own address of the ledger, so that a closed address affects no other
// merchant.
//
// A run is drawn from a seed: its orders and plans, and what is done to each, in which order. When a process
// is hit at random, the machine decides what else runs at that time and which rows of a plan are in flight
// together. The number of kills counts once for withdrawals and once more for batches.
//
//	go test ./e2e/torture -kills 4000 -seed 7 -v -timeout 0
//	go test ./e2e/torture -run Batch -kills 4000 -seed 7 -v -timeout 0
//	go test ./e2e/torture -run TestCrashes -kills 400 -journal "postgres://till@127.0.0.1:5432/till?sslmode=disable"
//	make torture N=20000 SEED=1
package torture
