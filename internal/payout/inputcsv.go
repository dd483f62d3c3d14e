package payout

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// csvRows is a CSV file. Its records are lines, because no field may hold a line break: so that a quote too many spoils its
// own line, and not the rest of the file.
type csvRows struct {
	text    textLines
	derives bool // order ids are, so that the column may be missing
	header  []column
	fields  []string
}

func (r *csvRows) next() (row cells, line int, wrong []Detail, err error) {
	if r.header == nil {
		wrong, err := r.readHeader()
		if wrong != nil || err != nil {
			return row, r.text.line, wrong, err
		}
	}
	text, wrong, err := r.text.next()
	if wrong != nil || err != nil {
		return row, r.text.line, wrong, err
	}
	line = r.text.line
	if wrong := r.split(string(text)); wrong != nil {
		return row, line, wrong, nil
	}
	switch got, want := len(r.fields), len(r.header); {
	case got > want:
		return row, line, wrongf(line, "", "it has %d fields, and the header has %d: a text with a comma in it belongs between double quotes", got, want), nil
	case got == 1:
		return row, line, wrongf(line, "", "it has one field, and the header has %d: what is empty has its comma too", want), nil
	case got < want:
		return row, line, wrongf(line, "", "it has %d fields, and the header has %d: what is empty has its comma too", got, want), nil
	}
	for i, col := range r.header {
		if col != noColumn {
			row[col] = r.fields[i]
		}
	}
	return row, line, nil, nil
}

// noColumn is one of a header that means nothing, or was there before.
const noColumn column = -1

// readHeader reads the first line. Where a column is missing, nothing can be said about the rows; the fields of one that is too
// much are passed over.
func (r *csvRows) readHeader() (wrong []Detail, err error) {
	text, wrong, err := r.text.next()
	switch {
	case err == io.EOF:
		return wrongf(1, "", "the file is empty: a header belongs on its first line, such as order_id,currency,amount,address"), errInput
	case wrong != nil:
		return wrong, errInput
	case err != nil:
		return nil, err
	}
	line := r.text.line
	if text[0] == '{' {
		return wrongf(line, "", "it is an object, as in JSON lines: add --format jsonl, or call the file .jsonl"), errInput
	}
	if wrong := r.split(string(text)); wrong != nil {
		return wrong, errInput
	}
	for _, other := range [][2]string{{";", "semicolons"}, {"\t", "tabs"}} {
		if len(r.fields) == 1 && strings.Contains(r.fields[0], other[0]) {
			return wrongf(line, "", "the columns are separated by %s: save the file with commas between them", other[1]), errInput
		}
	}
	for _, name := range r.fields {
		col, ok := columnNamed(name)
		switch {
		case !ok:
			wrong = append(wrong, Detail{line, shortenText(name), unknownColumn(name)})
			col = noColumn
		case slices.Contains(r.header, col):
			wrong = append(wrong, Detail{line, name, "the column is there twice"})
			col = noColumn
		}
		r.header = append(r.header, col)
	}
	tooMany := len(wrong)
	if !r.derives && !slices.Contains(r.header, colOrderID) {
		wrong = append(wrong, Detail{line, colOrderID.String(), "the column is missing: number the rows yourself, or let --auto-order-id BATCH do it"})
	}
	for _, col := range []column{colCurrency, colAddress} {
		if !slices.Contains(r.header, col) {
			wrong = append(wrong, Detail{line, col.String(), "the column is missing"})
		}
	}
	if !slices.Contains(r.header, colAmount) && !slices.Contains(r.header, colAmountMinor) {
		wrong = append(wrong, Detail{line, colAmount.String(), "the column is missing, and so is amount_minor"})
	}
	if len(wrong) > tooMany {
		return wrong, errInput
	}
	return wrong, nil
}

func unknownColumn(name string) string {
	text := fmt.Sprintf("there is no column %s: they are %s", shorten(name), strings.Join(columnNames[:], ", "))
	if plain := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_"); plain != name && slices.Contains(columnNames[:], plain) {
		text = fmt.Sprintf("there is no column %s: write %s", shorten(name), plain)
	}
	return text
}

// split takes a line apart.
func (r *csvRows) split(text string) []Detail {
	line := r.text.line
	r.fields = r.fields[:0]
	for {
		if !strings.HasPrefix(text, `"`) {
			field, rest, more := strings.Cut(text, ",")
			if strings.Contains(field, `"`) {
				return wrongf(line, "", "field %d has a double quote in it: put the field between double quotes, and double those in it", len(r.fields)+1)
			}
			if r.fields = append(r.fields, field); !more {
				return nil
			}
			text = rest
			continue
		}
		var field strings.Builder
		text = text[1:]
		for {
			part, rest, found := strings.Cut(text, `"`)
			if !found {
				return wrongf(line, "", "field %d begins with a double quote, and none ends it on this line: a field can hold no line break", len(r.fields)+1)
			}
			field.WriteString(part)
			text = rest
			if !strings.HasPrefix(text, `"`) {
				break
			}
			field.WriteByte('"')
			text = text[1:]
		}
		r.fields = append(r.fields, field.String())
		switch {
		case text == "":
			return nil
		case text[0] != ',':
			return wrongf(line, "", "field %d goes on after its closing double quote: double the quotes in it", len(r.fields))
		}
		text = text[1:]
	}
}
