//go:build !unix

package journal

import "errors"

func lockCheckpoint(string) error { return errors.ErrUnsupported }
