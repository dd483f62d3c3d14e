package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// writeSums writes SHA256SUMS in the form of sha256sum. Its signature covers everything else.
func writeSums(out string) {
	var b bytes.Buffer
	for _, e := range checked(os.ReadDir(out)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(checked(os.ReadFile(filepath.Join(out, e.Name())))), e.Name())
	}
	check(os.WriteFile(filepath.Join(out, "SHA256SUMS"), b.Bytes(), 0o644))
}
