//go:build unix && !linux

package cli

import "github.com/rogpeppe/go-internal/testscript"

// onScreen is for Linux; scripts guard it with [linux].
func onScreen(ts *testscript.TestScript, _ []string) { ts.Fatalf("there is no terminal here") }
