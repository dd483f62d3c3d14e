package xlsx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"example.com/till/pkg/payout/sheet"
)

const maxColumns = 256

// A row of a sheet.
type row struct {
	line   int
	hidden bool
	cells  []cell
}

// A cell has a value, or says why it means nothing.
type cell struct {
	text   string
	number bool // the text is a number with a decimal point
	styled bool // which is shown with other digits or signs
	wrong  string
}

// cellElement is the element c of a row (ISO 29500-1, 18.3.1.4).
type cellElement struct {
	Place   string    `xml:"r,attr"`
	Kind    string    `xml:"t,attr"`
	Style   string    `xml:"s,attr"`
	Value   string    `xml:"v"`
	Formula *struct{} `xml:"f"`
	Inline  richText  `xml:"is"`
}

// rows yields the rows of the sheet.
func (b *book) rows() iter.Seq[row] {
	return func(yield func(row) bool) {
		var r row
		b.elements(b.sheet, func(dec *xml.Decoder, tag xml.StartElement) (err error) {
			switch tag.Name.Local {
			case "row":
				if r, err = b.row(dec, tag, r.line); err == nil && !yield(r) {
					return errStop
				}
			case "mergeCell": // behind the rows
				var merged struct {
					Area area `xml:"ref,attr"`
				}
				err = dec.DecodeElement(&merged, &tag)
				b.merged = append(b.merged, merged.Area)
			}
			return err
		})
	}
}

// row reads the row of a start tag, below the line last.
func (b *book) row(dec *xml.Decoder, tag xml.StartElement, last int) (row, error) {
	r := row{line: last + 1}
	for _, a := range tag.Attr {
		switch a.Name.Local {
		case "r":
			r.line, _ = strconv.Atoi(a.Value)
		case "hidden":
			hidden, _ := strconv.ParseBool(a.Value)
			r.hidden = r.hidden || hidden
		case "ht":
			height, err := strconv.ParseFloat(a.Value, 64)
			r.hidden = r.hidden || err == nil && height == 0
		}
	}
	if r.line <= last {
		return r, fmt.Errorf("the row %d stands below the row %d: save the workbook again, or as CSV", r.line, last)
	}
	for next := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return r, err
		}
		switch tag := token.(type) {
		case xml.EndElement:
			return r, nil
		case xml.StartElement:
			var e cellElement
			if err = dec.DecodeElement(&e, &tag); err == nil && tag.Name.Local == "c" {
				next, err = b.addCell(&r, e, next)
			}
			if err != nil {
				return r, err
			}
		}
	}
}

// addCell adds a cell to a row: in the column next or, if the cell says so, to the right of it. It returns the
// column behind the cell.
func (b *book) addCell(r *row, e cellElement, next int) (int, error) {
	at := coordinates{next, r.line}
	if e.Place != "" {
		named, ok := placed(e.Place)
		if !ok || named.line != r.line || named.column < next {
			return 0, fmt.Errorf("the cell %s stands in row %d where %s belongs: save the workbook again, or as CSV",
				sheet.Quote(e.Place), r.line, at)
		}
		at = named
	}
	c, err := b.cell(e)
	if err == nil && c != (cell{}) {
		if at.column >= maxColumns {
			return 0, fmt.Errorf("the cell %s is beyond column %d: save the sheet as CSV", at, maxColumns)
		}
		r.cells = append(append(r.cells, make([]cell, at.column-len(r.cells))...), c)
	}
	return at.column + 1, err
}

// cell returns what an element means.
func (b *book) cell(e cellElement) (c cell, err error) {
	format := ""
	if i, _ := strconv.Atoi(e.Style); i >= 0 && i < len(b.formats) {
		format = b.formats[i]
	}
	c.text = e.Value
	switch {
	case e.Kind == "s":
		i, err := strconv.Atoi(e.Value)
		if err != nil || i < 0 || i >= len(b.texts) {
			return c, errors.New("a text of the workbook is missing: save it again, or as CSV")
		}
		c.text = b.texts[i]
	case e.Kind == "inlineStr":
		c.text = e.Inline.String()
	case e.Value == "" && e.Formula != nil:
		c.wrong = "has a formula without its result: open the workbook in a spreadsheet program and save it again"
	case e.Kind == "str":
		c.text = unescape(e.Value)
	case e.Kind == "e":
		c.wrong = "has the error " + sheet.Quote(e.Value)
	case e.Kind == "b":
		c.wrong = "is true or false, and a text or a number belongs there"
	case e.Value == "":
	case e.Kind == "d" || isDate(format):
		c.wrong = "is a date, or shown as one: format it as text, and write it again"
	case strings.Contains(format, "%"):
		c.wrong = "is a percentage: format it as a number, and write it again"
	default:
		number, ok := exact(e.Value)
		if !ok {
			c.wrong = "has the number " + sheet.Quote(e.Value) +
				", which is no exact decimal: round it, or format the cell as text and write it again"
			break
		}
		c = cell{text: number, number: true, styled: format != "@" && !strings.EqualFold(format, "General") &&
			(strings.Trim(format, "#0,.") != "" || strings.HasPrefix(format, "00"))}
	}
	return c, nil
}

// exact writes out a number of a workbook. Programs store 0.1 as 0.10000000000000001, too, and show at most 15
// digits. It reports whether a person can have typed the number: 0.1+0.2 is another one than 0.3.
func exact(text string) (string, bool) {
	stored, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xXpP_nN") || math.Abs(stored) >= 1e21 {
		return "", false
	}
	shown := strconv.FormatFloat(stored, 'e', 14, 64)
	if again, err := strconv.ParseFloat(shown, 64); err != nil || again != stored {
		return "", false
	}
	return strconv.FormatFloat(stored, 'f', -1, 64), true
}

// builtIn returns a format for the number of a built-in one (ISO 29500-1, 18.8.30), as far as it matters here.
// The numbers from 27 on are dates in the languages of East Asia and Thailand.
func builtIn(id string) string {
	n, err := strconv.Atoi(id)
	switch {
	case err != nil:
		return ""
	case n == 9 || n == 10:
		return "0%"
	case n >= 14 && n <= 22 || n >= 27 && n <= 36 || n >= 45 && n <= 47 || n >= 50 && n <= 58 || n >= 71 && n <= 81:
		return "yyyy-mm-dd"
	}
	return ""
}

// literals matches what of a format is no letter of a date: texts, colours and the exponent. Elapsed hours, such
// as [h], are its first group.
var literals = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)"[^"]*(?:"|$)|[\\_*].?|\[([hms]+)\]|\[[^\]]*(?:\]|$)|e[+-]`)
})

// isDate reports whether a number is shown as a date or a time. A letter that is none of a date is refused with
// them.
func isDate(format string) bool {
	letters := strings.ToLower(literals().ReplaceAllString(format, "$1"))
	i := strings.IndexFunc(letters, func(r rune) bool { return r >= 'a' && r <= 'z' })
	return i >= 0 && !strings.HasPrefix(letters[i:], "general")
}
