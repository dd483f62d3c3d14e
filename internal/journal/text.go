package journal

import "strings"

// keepable is a text of the service's as every database takes it: PostgreSQL refuses a zero byte and what is not UTF-8, and
// with it the whole record.
func keepable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// storable writes an id of the service's so that every database takes it and restored gives it back as it was: an id is
// needed to ask for the withdrawal, and an outcome that cannot be recorded is lost.
func storable(id string) string { return toStore.Replace(id) }

func restored(id string) string { return fromStore.Replace(id) }

// To make these takes longer than to use them.
var (
	toStore   = strings.NewReplacer("\x01", "\x011", "\x00", "\x010")
	fromStore = strings.NewReplacer("\x011", "\x01", "\x010", "\x00")
)
