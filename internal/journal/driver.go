package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// Hooks change how Open opens a journal, for the tests of other packages.
type Hooks struct {
	// Driver returns the driver that is used instead of the database's own. So a test can watch, delay or fail
	// every statement. The connections must have the methods of the database's that are not in package driver.
	Driver func(driver.Connector) driver.Connector
	// SinceBoot takes the place of that of the options, which real time moves.
	SinceBoot func() (boot string, since time.Duration)
	// Copies says that a copy is taken for the journal itself. So the state of a disk can be rebuilt elsewhere.
	Copies bool
}

// WithHooks returns a context that makes Open use hooks.
func WithHooks(ctx context.Context, h Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

type hooksKey struct{}

func hooks(ctx context.Context) Hooks {
	h, _ := ctx.Value(hooksKey{}).(Hooks)
	return h
}

func openDB(ctx context.Context, c driver.Connector) *sql.DB {
	if wrap := hooks(ctx).Driver; wrap != nil {
		c = wrap(c)
	}
	return sql.OpenDB(c)
}
