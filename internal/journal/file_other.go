//go:build !unix

package journal

import "io/fs"

func links(fs.FileInfo) uint64 { return 1 }
