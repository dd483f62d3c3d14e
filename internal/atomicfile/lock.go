package atomicfile

import (
	"errors"
	"time"
)

// ErrLocked is the error of Lock if somebody else has the lock for too long.
var ErrLocked = errors.New("another process has locked it")

// lockInterval is how often Lock tries.
const lockInterval = 5 * time.Millisecond

// Lock lets only one caller at a time read a file and replace it, in this process and in all others that call
// Lock too. It waits for the lock no longer than the given time. The system releases the lock of a process
// that is killed.
func Lock(path string, most time.Duration) (unlock func(), err error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	end := time.NewTimer(most)
	defer end.Stop()
	for {
		locked, err := tryLock(f)
		if locked {
			return func() { f.Close() }, nil
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-end.C:
			return nil, errors.Join(ErrLocked, f.Close())
		case <-time.After(lockInterval):
		}
	}
}
