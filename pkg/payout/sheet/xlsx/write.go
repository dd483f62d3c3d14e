package xlsx

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// The parts of a workbook of one sheet, but for the sheet itself.
var fixedParts = []struct{ name, text string }{
	{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
		`<Override PartName="/xl/sheet.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
	{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="` + documents + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
	{"xl/workbook.xml", `<workbook xmlns="` + spreadsheet + `" xmlns:r="` + documents + `">` +
		`<sheets><sheet name="results" sheetId="1" r:id="rId1"/></sheets></workbook>`},
	{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="` + documents + `/worksheet" Target="sheet.xml"/></Relationships>`},
}

const (
	documents   = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	spreadsheet = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
)

// Write writes a workbook of one sheet, whose first row is its header. Cells are text, except exact numbers in
// the columns that are named.
func Write(w io.Writer, rows iter.Seq2[[]string, error], numbers ...string) error {
	archive := zip.NewWriter(w)
	for _, part := range fixedParts {
		f, err := archive.Create(part.name)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, xml.Header+part.text); err != nil {
			return err
		}
	}
	f, err := archive.Create("xl/sheet.xml")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f) // it keeps its first error
	out.WriteString(xml.Header + `<worksheet xmlns="` + spreadsheet + `"><sheetData>`)
	var header []string
	line := 0
	for fields, err := range rows {
		if err != nil {
			return err
		}
		if line++; header == nil {
			header = fields
		}
		fmt.Fprintf(out, `<row r="%d">`, line)
		for i, field := range fields {
			if number, ok := exact(field); ok && slices.Contains(numbers, header[i]) {
				fmt.Fprintf(out, `<c r="%s"><v>%s</v></c>`, coordinates{i, line}, number)
				continue
			}
			fmt.Fprintf(out, `<c r="%s" t="inlineStr"><is><t xml:space="preserve">`, coordinates{i, line})
			xml.EscapeText(out, []byte(strings.ReplaceAll(field, "_x", "_x005F_x")))
			out.WriteString("</t></is></c>")
		}
		out.WriteString("</row>")
	}
	out.WriteString("</sheetData></worksheet>")
	if err := out.Flush(); err != nil {
		return err
	}
	return archive.Close()
}
