//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package journal

import "golang.org/x/sys/unix"

const setLock, getLock = unix.F_SETLK, unix.F_GETLK
