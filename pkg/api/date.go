package api

import (
	"context"
	"net/http"
	"time"
)

type dateKey struct{}

// ObserveDate returns a context that makes calls pass the Date header (RFC 9110) of every answer that has one
// to seen. It is for callers who must know whether their clock agrees with the service's.
func ObserveDate(ctx context.Context, seen func(time.Time)) context.Context {
	return context.WithValue(ctx, dateKey{}, seen)
}

// tellDate calls the function of ObserveDate, if there is one.
func tellDate(ctx context.Context, header http.Header) {
	seen, _ := ctx.Value(dateKey{}).(func(time.Time))
	if seen == nil {
		return
	}
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		seen(at)
	}
}
