//go:build !unix

package pgtest

import (
	"errors"
	"syscall"
)

func giveAway(string) error { return errors.New("PostgreSQL is not started for tests on this system") }

func attributes() *syscall.SysProcAttr { return nil }
