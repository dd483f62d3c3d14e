// Package torture holds the crash tests of withdrawals, one by one and in batches: everything in it is test code.
//
// The real program is run, as a process of its own, against a ledger, in another process, that pays whatever it is asked
// to pay, as often as it is asked, and that fails in every way that a service on a network can. The program is killed with
// SIGKILL, at random and at each point that matters, and is run again, until every withdrawal is settled. Then the ledger
// and the journal are held against each other:
//
//   - the ledger has at most one payment for an order id, and for a payment that was asked for without one;
//   - the journal has every payment of the ledger, as accepted, with its id and with the fields that were given;
//   - the ledger has every withdrawal that the journal calls accepted, and every id that was ever printed;
//   - an exit code that says that nothing was sent is never that of an attempt that paid;
//   - an id that was printed was on record by then, whatever happened next;
//   - what is planned or rejected was not paid.
//
// Each create carries the number of its attempt to the ledger, in its callback address, together with what the ledger is
// to do with it. So each payment names the very process that made it. One journal is shared by processes that run side by
// side.
//
// Batches are treated likewise: plans of 5 to 60 rows, some of them the same, are applied one call at a time or sixteen, by
// one process or, with a journal in PostgreSQL, by three at once; half of the plans have such a journal. Everything is looked
// at after every step, and there more must hold:
//
//   - the journal has all rows of a run or none, in the order of the plan, each with what the plan says;
//   - no process asks twice for a row, none asks for one that was not to be sent, and nothing that is unknown becomes
//     anything but accepted without a person's decision;
//   - each row is in the state that the table of outcomes gives for what the ledger did with it, and the exit code is that of the rows;
//   - the results file is whole, and says what the journal says.
//
// A row's callback address is part of its plan, so the ledger is told beforehand what to do with which row of which attempt.
// Every run has the same batches to begin with, in an order of its own: they come by each point, meet each fault, and find each
// mutant, however many kills were asked for. What comes after them is drawn.
// TestSeveralMachines has three processes at a longer plan while the database ends their sessions and starts anew.
//
// The service and the machine misbehave as well:
//
//   - a third of the merchants, and half of those with single withdrawals, reach the ledger in TLS, under a private authority,
//     through a proxy that breaks a connection after a drawn number of bytes of its handshake, its request or its response;
//   - lists are stale, come in four orders, move both ways while they are read, and spell addresses, codes and order ids in
//     another way than they were sent; the Date header is wrong by minutes;
//   - the record of an outcome fails: the disk is full, it breaks, the connection to the journal does, or another program holds
//     its lock; clocks are set; a process is stopped between its record and the first byte, also for so long that others decide
//     about its row;
//   - while a plan is applied, its file is overwritten, replaced, cut or deleted, files of the journal are removed, an older copy
//     takes their place, the account is renamed, and another machine pays what was rejected.
//
// Each of these is the first step of a batch of its own, or ends one (beside_test.go). The program is held or stopped at a point,
// which the test knows from a note in a directory, until the test has acted. TestFullDisk fills a real disk.
//
// Points inside the program are reached with a second binary that is built from copies of its sources, with a few lines
// patched in (overlay_test.go); the sources themselves know nothing of it. The same binary holds mutants: bugs as somebody
// might make them. Each must be found out by these tests, or they prove nothing.
//
// Nothing hangs on how fast a machine is. What has to come is waited for until it comes, or until the process that should
// bring it has ended; processes that are to be at the same point at the same moment wait for each other; and each merchant has
// an address of the ledger of its own, so that no other merchant is affected if nothing listens there.
//
// A run is drawn from a seed: which orders and plans there are, and what is done to each, in which order. When a process is
// hit at random, what runs beside it, and which rows of a plan are under way together, is the machine's. The number of kills
// is that of withdrawals and once more that of batches.
//
//	go test ./e2e/torture -kills 2000 -seed 7 -v -timeout 0
//	go test ./e2e/torture -run Batch -kills 2000 -seed 7 -v -timeout 0
//	go test ./e2e/torture -run TestCrashes -kills 200 -journal postgres://till@127.0.0.1:5432/till
//	go test ./e2e/torture -run TestBatchCrashes -kills 0 -step 'the plan file changes' -v
//	make torture N=20000 SEED=1
package torture
