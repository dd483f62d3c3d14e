//go:build unix

package main

import (
	"os"
	"syscall"
)

// peakOf returns the peak memory of a finished process in MiB. Linux counts it in KiB.
func peakOf(p *os.ProcessState) float64 {
	return float64(p.SysUsage().(*syscall.Rusage).Maxrss) / 1024
}
