package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// WithDriver returns a context that makes Open use the driver that wrap returns, instead of the database's
// own. So the caller can watch, delay or fail every statement of a journal. The connections of the new driver
// must have the methods of the database's that are not in package driver.
func WithDriver(ctx context.Context, wrap func(driver.Connector) driver.Connector) context.Context {
	return context.WithValue(ctx, driverKey{}, wrap)
}

type driverKey struct{}

// WithSinceBoot returns a context that makes Open use another clock than that of its options, which real time
// moves.
func WithSinceBoot(ctx context.Context, clock func() (boot string, since time.Duration)) context.Context {
	return context.WithValue(ctx, bootKey{}, clock)
}

type bootKey struct{}

// WithCopies returns a context that makes Open take a copy for the journal itself. So the state of a disk can be
// rebuilt elsewhere.
func WithCopies(ctx context.Context) context.Context {
	return context.WithValue(ctx, copiesKey{}, true)
}

type copiesKey struct{}

func openDB(ctx context.Context, c driver.Connector) *sql.DB {
	if wrap, ok := ctx.Value(driverKey{}).(func(driver.Connector) driver.Connector); ok {
		c = wrap(c)
	}
	return sql.OpenDB(c)
}
