// Command till is a client for a merchant payment service: withdrawals, invoices and the administration of
// resellers.
package main

import (
	"context"
	"os"
	"time"
	_ "time/tzdata" // Windows and images have no time zones of their own

	"example.com/till/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args, cli.IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ, Now: time.Now,
	}))
}
