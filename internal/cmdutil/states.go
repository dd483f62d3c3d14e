package cmdutil

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/near"
	"example.com/till/pkg/payout"
)

// StateNames returns the states of orders.
func StateNames() (names []string) {
	for _, state := range payout.States() {
		names = append(names, string(state))
	}
	return names
}

// ParseStates reads the values of --state.
func ParseStates(names []string) (states []payout.State, err error) {
	for _, name := range names {
		if known := StateNames(); !slices.Contains(known, name) {
			return nil, UsageError(fmt.Sprintf("--state: there is no state %q", name),
				cmp.Or(near.Question(name, "", known), "the states are "+strings.Join(known, ", ")))
		}
		states = append(states, payout.State(name))
	}
	return states, nil
}
