package exit

import (
	"context"
	"testing"

	"example.com/till/pkg/api"
)

// TestCodeOfCreate checks the exit code of every way in which a create can fail.
func TestCodeOfCreate(t *testing.T) {
	for want, e := range map[int]*api.Error{
		30: {Outcome: api.Rejected, Status: 422}, 31: {Outcome: api.Rejected, Status: 403},
		32: {Outcome: api.Rejected, Status: 429},
		40: {Outcome: api.NotSent}, 60: {Outcome: api.NotSent, Err: context.Canceled},
		20: {Outcome: api.Unknown, Status: 429, Err: context.Canceled},
	} {
		if code, _ := explainCall(e); code != want {
			t.Errorf("%+v ends with %d, want %d", e, code, want)
		}
	}
}
