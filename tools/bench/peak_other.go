//go:build !unix

package main

import "os"

// peakOf returns 0: this system does not report the peak.
func peakOf(*os.ProcessState) float64 { return 0 }
