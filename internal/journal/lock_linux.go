package journal

import "golang.org/x/sys/unix"

// These locks belong to the open file and not to the process, so two journals in one process see each other's
// locks.
const setLock, getLock = unix.F_OFD_SETLK, unix.F_OFD_GETLK
