package sandbox

import (
	"maps"
	"slices"
)

// Routes returns every route of the server as METHOD PATH, sorted.
func Routes() (all []string) {
	for _, methods := range (&Server{}).routeTable() {
		for r := range maps.Values(methods) {
			all = append(all, r.operation())
		}
	}
	slices.Sort(all)
	return all
}
