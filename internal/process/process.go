// Package process runs commands as children of this process: it passes signals on to them and ends what they leave behind.
package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// UntilStopped adds to a context of reads that the end of the terminal ends it too, unless that is ignored as under nohup.
func UntilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// Forwarded returns the signals that a command is to get in our place.
func Forwarded() (signals chan os.Signal, release func()) {
	signals = make(chan os.Signal, 8)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	return signals, func() { signal.Stop(signals) }
}

// echo is how soon the same signal is taken for one that has reached us twice: timeout(1) sends one to its child and one
// more to the whole group. A program that takes a second signal for "stop at once" must not see two.
const echo = 100 * time.Millisecond

// Run runs a command to its end and passes signals on to it. It shares our process group, or gets one of its own.
func Run(cmd *exec.Cmd, shared bool, signals <-chan os.Signal) error {
	// The system ends the child when the thread that started it ends; this keeps the thread for as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	prepareChild(cmd, shared)
	if err := cmd.Start(); err != nil {
		return err
	}
	gone, passed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(passed)
		passOn(cmd.Process, shared, signals, gone)
	}()
	err := cmd.Wait()
	close(gone)
	<-passed
	if errors.Is(err, exec.ErrWaitDelay) { // it has ended well, and something it started holds a pipe of it
		return nil
	}
	return err
}

func passOn(child *os.Process, shared bool, signals <-chan os.Signal, gone <-chan struct{}) {
	last := map[os.Signal]time.Time{}
	for {
		select {
		case <-gone:
			return
		case sig := <-signals:
			now := time.Now()
			if now.Sub(last[sig]) > echo {
				deliver(child, shared, sig)
			}
			last[sig] = now
		}
	}
}
