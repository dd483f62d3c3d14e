package terminal

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Forwarded returns the signals that a command should get in our place.
func Forwarded() (signals chan os.Signal, release func()) {
	signals = make(chan os.Signal, 8)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	signal.Stop(quits)
	return signals, func() {
		if watched.Load() {
			signal.Notify(quits, syscall.SIGQUIT)
		}
		signal.Stop(signals)
	}
}

// echo is the time within which a second signal is a copy of the first: timeout(1) sends one to its child and
// another to the whole group. A program that takes a second signal as "stop at once" must not see two.
const echo = 100 * time.Millisecond

// Run runs a command to its end and forwards signals to it, but not the echo of one. The command shares our process
// group or gets its own.
func Run(cmd *exec.Cmd, shared bool, signals <-chan os.Signal) error {
	// The system ends the child when the thread that started it ends. This keeps the thread as long as the
	// child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	prepareChild(cmd, shared)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	last := map[os.Signal]time.Time{}
	for {
		select {
		case sig := <-signals:
			now := time.Now()
			if now.Sub(last[sig]) > echo {
				deliver(cmd.Process, shared, sig)
			}
			last[sig] = now
		case err := <-ended:
			// The command succeeded, but a process that it started still holds one of its pipes.
			if errors.Is(err, exec.ErrWaitDelay) {
				return nil
			}
			return err
		}
	}
}

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
