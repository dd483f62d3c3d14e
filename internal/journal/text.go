package journal

import "strings"

// keepable returns a text of the service in a form that every database accepts. PostgreSQL would refuse the
// whole record if the text had a zero byte or were not UTF-8.
func keepable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// storable encodes an id of the service so that every database accepts it, and restored decodes it. The exact
// id is needed to ask for the withdrawal, and an outcome that cannot be recorded is lost.
func storable(id string) string { return toStore.Replace(id) }

func restored(id string) string { return fromStore.Replace(id) }

// Making a replacer takes longer than using it.
var (
	toStore   = strings.NewReplacer("\x01", "\x011", "\x00", "\x010")
	fromStore = strings.NewReplacer("\x011", "\x01", "\x010", "\x00")
)
