package xlsx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/till/pkg/payout/sheet"
)

// A cell has a value, or says why it means nothing.
type cell struct {
	text   string
	number bool // the text is a number with a decimal point
	styled bool // which is shown with other digits or signs
	wrong  string
}

// readSheet reads the rows of a sheet, and then its merged cells.
func (b *book) readSheet(part string, row func(int, bool, []cell) error, merged func(from, to coordinates) error) error {
	line := 0
	return b.tokens(part, func(dec *xml.Decoder, tag xml.StartElement) error {
		switch tag.Name.Local {
		case "row":
			last := line
			if line++; attribute(tag, "r") != "" {
				line, _ = strconv.Atoi(attribute(tag, "r"))
			}
			if line <= last {
				return fmt.Errorf("the row %d stands below the row %d: save the workbook again, or as CSV", line, last)
			}
			cells, err := b.cells(dec, line)
			if err != nil {
				return err
			}
			height, err := strconv.ParseFloat(attribute(tag, "ht"), 64)
			return row(line, isTrue(attribute(tag, "hidden")) || err == nil && height == 0, cells)
		case "mergeCell":
			first, second, _ := strings.Cut(attribute(tag, "ref"), ":")
			from, ok := placed(first)
			to, also := placed(second)
			if !ok || !also {
				return errWorkbook
			}
			if merged != nil {
				return merged(coordinates{min(from.column, to.column), min(from.line, to.line)},
					coordinates{min(max(from.column, to.column), maxColumns), max(from.line, to.line)})
			}
		}
		return nil
	})
}

// cells reads the cells of a row, whose start was read.
func (b *book) cells(dec *xml.Decoder, line int) (cells []cell, err error) {
	next := 0
	for {
		tag, found, err := nextInside(dec)
		if err != nil || !found {
			return cells, err
		}
		if tag.Name.Local != "c" {
			if err := dec.Skip(); err != nil {
				return nil, err
			}
			continue
		}
		column, err := columnOf(tag, coordinates{next, line})
		if err != nil {
			return nil, err
		}
		c, err := b.cell(dec, tag)
		if err != nil {
			return nil, err
		}
		if next = column + 1; c == (cell{}) {
			continue
		}
		if column >= maxColumns {
			return nil, fmt.Errorf("the cell %s is beyond column %d: save the sheet as CSV", place(column, line), maxColumns)
		}
		cells = append(cells, slices.Repeat([]cell{{}}, column-len(cells))...)
		cells = append(cells, c)
	}
}

// columnOf returns the column of a cell, which is next or, if it says so, to the right of it in the same row.
func columnOf(tag xml.StartElement, next coordinates) (int, error) {
	name := attribute(tag, "r")
	if name == "" {
		return next.column, nil
	}
	at, ok := placed(name)
	if !ok || at.line != next.line || at.column < next.column {
		return 0, fmt.Errorf("the cell %s stands in row %d where %s belongs: save the workbook again, or as CSV",
			sheet.Quote(name), next.line, place(next.column, next.line))
	}
	return at.column, nil
}

// nextInside returns the next element inside the one whose start was read. It reports whether there is one.
func nextInside(dec *xml.Decoder) (tag xml.StartElement, found bool, err error) {
	for {
		token, err := dec.Token()
		if err != nil {
			return tag, false, err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return tag, false, nil
		case xml.StartElement:
			return token, true, nil
		}
	}
}

// content reads what a cell has, whose start was read: a value, a text, and perhaps a formula.
func content(dec *xml.Decoder) (value, inline string, formula bool, err error) {
	for {
		tag, found, err := nextInside(dec)
		if err != nil || !found {
			return value, inline, formula, err
		}
		switch tag.Name.Local {
		case "v":
			err = dec.DecodeElement(&value, &tag)
		case "is":
			inline, err = textIn(dec)
		default:
			formula = formula || tag.Name.Local == "f"
			err = dec.Skip()
		}
		if err != nil {
			return value, inline, formula, err
		}
	}
}

// cell reads a cell, whose start was read.
func (b *book) cell(dec *xml.Decoder, tag xml.StartElement) (c cell, err error) {
	value, inline, formula, err := content(dec)
	if err != nil {
		return c, err
	}
	style, _ := strconv.Atoi(attribute(tag, "s"))
	format := ""
	if style >= 0 && style < len(b.formats) {
		format = b.formats[style]
	}
	switch kind := attribute(tag, "t"); {
	case kind == "s":
		i, err := strconv.Atoi(value)
		if err != nil || i < 0 || i >= len(b.strings) {
			return c, errors.New("a text of the workbook is missing: save it again, or as CSV")
		}
		return cell{text: b.strings[i]}, nil
	case kind == "inlineStr":
		return cell{text: inline}, nil
	case value == "" && formula:
		return cell{wrong: "has a formula without its result: open the workbook in a spreadsheet program and save it again"}, nil
	case kind == "str":
		return cell{text: value}, nil
	case kind == "e":
		return cell{text: value, wrong: "has the error " + sheet.Quote(value)}, nil
	case kind == "b":
		return cell{text: value, wrong: "is true or false, and a text or a number belongs there"}, nil
	case value == "":
		return c, nil
	case kind == "d" || isDate(format):
		return cell{text: value, wrong: "is a date, or shown as one: format it as text, and write it again"}, nil
	case strings.Contains(format, "%"):
		return cell{text: value, wrong: "is a percentage: format it as a number, and write it again"}, nil
	}
	number, ok := exact(value)
	if !ok {
		return cell{text: value, wrong: "has the number " + sheet.Quote(value) +
			", which is no exact decimal: round it, or format the cell as text and write it again"}, nil
	}
	styled := format != "@" && !strings.EqualFold(format, "General") && (strings.Trim(format, "#0,.") != "" || strings.HasPrefix(format, "00"))
	return cell{text: number, number: true, styled: styled}, nil
}
