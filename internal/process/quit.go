package process

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// ExitQuit is how a shell reports a program that SIGQUIT has ended.
const ExitQuit = 128 + int(syscall.SIGQUIT)

// quits gets SIGQUIT, unless a command gets it in our place.
var (
	quits   = make(chan os.Signal, 1)
	watched atomic.Bool
)

// OnQuit makes SIGQUIT call say and end the process. Go would print the stacks of the program.
func OnQuit(say func()) {
	if signal.Ignored(syscall.SIGQUIT) || watched.Swap(true) {
		return
	}
	signal.Notify(quits, syscall.SIGQUIT)
	go func() {
		<-quits
		time.AfterFunc(time.Second, func() { os.Exit(ExitQuit) }) // standard error may be blocked
		say()
		os.Exit(ExitQuit)
	}()
}
