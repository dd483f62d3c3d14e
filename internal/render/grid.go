package render

import (
	"iter"
	"slices"
)

// grid is the rows of a table, of CSV or of a page, without the type that they were made from.
type grid struct {
	fields []field
	rows   iter.Seq2[[]Cell, error] // each row is in the same slice
}

// field is a Column without the type of the row.
type field struct {
	name   string
	whole  bool
	amount bool   // CSV has three columns for it
	codeIn string // the name of a field
}

func gridOf[T any](columns []Column[T], items iter.Seq2[T, error]) grid {
	g := grid{fields: make([]field, len(columns))}
	for i, c := range columns {
		g.fields[i] = field{name: c.Name, whole: c.Whole, amount: c.Amount, codeIn: c.CodeIn}
	}
	row := make([]Cell, len(columns))
	g.rows = convert(items, func(item T) []Cell {
		for i, c := range columns {
			row[i] = c.Cell(item)
		}
		return row
	})
	return g
}

// tell tells of an amount in minor units.
func (o Options) tell(c Cell) {
	if o.Unknown != nil && c.kind == kindAmount && c.decimals < 0 {
		o.Unknown(c.text)
	}
}

// people returns the rows as people read them: an amount does not repeat the code that another field has. On
// a terminal, digits are grouped.
func (g grid) people(o Options) iter.Seq2[[]Cell, error] {
	codes := make([]int, len(g.fields))
	for i, f := range g.fields {
		codes[i] = slices.IndexFunc(g.fields, func(other field) bool { return f.codeIn != "" && other.name == f.codeIn })
	}
	return convert(g.rows, func(row []Cell) []Cell {
		for i, code := range codes {
			row[i].grouped = o.Width > 0
			o.tell(row[i])
			if code >= 0 {
				row[i].bare = row[code].text == row[i].text
			}
		}
		return row
	})
}
