package journal

import "golang.org/x/sys/unix"

// The locks belong to the open file and not to the process, so that two journals in one process see each other's.
const setLock, getLock = unix.F_OFD_SETLK, unix.F_OFD_GETLK
