package render

import "slices"

// Labels tells apart things with the same label.
type Labels map[string][]string // the ids of a label's things: two are as good as more

// Add adds a thing. Adding it again changes nothing.
func (l Labels) Add(id, label string) {
	if ids := l[label]; len(ids) < 2 && !slices.Contains(ids, id) {
		l[label] = append(ids, id)
	}
}

// longestID is the most columns of an id next to a label.
const longestID = 20

// Apart returns the beginning of a thing's id if others have the same label, or if the label is empty. Else it
// returns "".
func (l Labels) Apart(id, label string) string {
	if label != "" && len(l[label]) < 2 {
		return ""
	}
	if begin, ok := beginning(id); ok {
		return begin
	}
	return cut(Safe(id), longestID, true)
}

// labelled returns a label and what tells it apart in at most limit columns. It cuts the label only.
func labelled(label, apart string, limit int) string {
	label, apart = Safe(label), Safe(apart)
	switch {
	case apart == "":
		return cut(label, limit, false)
	case label == "":
		return apart
	}
	return cut(label, max(limit-width(apart)-1, 1), false) + " " + apart
}
