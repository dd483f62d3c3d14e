// Package explore goes through all orders of events in small worlds. All of it is test code.
//
// A run (run_test.go) carries out one schedule. Its processes are goroutines with the real code of pkg/payout
// and internal/journal, each with its own journal, client and lock. At every statement of the journal and
// every call of the service, a process waits for its turn. The scheduler knows what can happen then: the
// process goes on, it dies, its connection breaks, the service fails in one of several ways, another process
// takes its turn, or an event happens that belongs to no process. It takes one of these options. So a
// schedule is a list of numbers, and the same numbers give the same run. A run happens in a bubble of
// testing/synctest, whose clock moves only if the schedule says so, or if all processes sleep.
//
//   - store_test.go is the driver of the database that each process uses. A process that dies loses its
//     connections, and so its transaction and its locks. Nothing that it does afterwards reaches the world.
//     rows_test.go has the results of its queries.
//   - service_test.go is the service. It pays whatever it is asked to pay, as often as it is asked.
//   - worlds_test.go has the worlds: who does what, and what can go wrong there. outside_test.go has those in
//     which something happens to the journal, the plan, the list or a clock, found_test.go those in which the
//     list, another program or a person knows more than the journal or the plan, keys_test.go those with several
//     keys, approvals_test.go those in which persons must approve what is
//     sent, and well_test.go those in which everything must get paid in the end, and with two calls in flight.
//     What a list must show without any order of events, the tests of pkg/payout check.
//   - invariants_test.go compares the journal with the service after every step that changes one of them.
//   - explore_test.go goes through the schedules of a world, depth first, as far as a bound allows: a number
//     of switches, which are steps at which another process or an event comes first although the current
//     process could go on, and a number of faults. A run ends early if it reaches a state that another run
//     has reached with as much of the bound left: state_test.go says what a state is. A schedule that
//     violates an invariant is reported.
//   - variants_test.go puts bugs into the code, one at a time, which must be found. The crash tests look for
//     most of the first ones too: their patches are in package overlay, and the others in patches_test.go.
//   - ground_test.go keeps the journal and the files with which every run begins. The journal is in SQLite or
//     in PostgreSQL, whose clock is then the one of the bubble.
//
// Not everything is a step. A transaction of SQLite is undone as a whole if its process dies before the
// commit, and no other process can see or change anything of it before. So all moments before a commit are
// the same, and one of them is a step. To open and to close a journal is one step each. A process in
// PostgreSQL does not wait for a lock that another one holds: its step comes after the lock is free.
//
// To add a world, add a line to one of the lists of worlds. To see whether a bug of your own is found, change
// a line of the code:
//
//	go test ./e2e/explore -run TestExplore
//	go test ./e2e/explore -run TestExplore -world twice -switches 2 -faults 1 -v
//	go test ./e2e/explore -run TestReplay -world twice -schedule 15:3,33:2 -v
//	go test ./e2e/explore -run TestReplay -world twice -schedule 15:3,33:2 -v -statements
//	make prove
package explore
