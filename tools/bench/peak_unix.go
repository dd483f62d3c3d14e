//go:build unix

package main

import (
	"os"
	"syscall"
)

// peakOf is the most memory that a finished process had at a time, in MiB. Linux counts it in KiB.
func peakOf(p *os.ProcessState) float64 {
	return float64(p.SysUsage().(*syscall.Rusage).Maxrss) / 1024
}
