package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"example.com/till/pkg/payout/sheet"
)

// MaxFile is the most bytes of a workbook. A part of it has at most maxPart, and no text or tag of it more than
// maxToken.
const (
	MaxFile    = 32 << 20
	maxPart    = 128 << 20
	maxToken   = 1 << 20
	maxDepth   = 10_000 // a comment counts, too
	maxStrings = 1 << 20
	maxColumns = 256
)

var errWorkbook = errors.New("it is no workbook (.xlsx) that can be read, or a password protects it: save it again, or as CSV")

// book is a workbook that was opened.
type book struct {
	files   *zip.Reader
	strings []string
	formats []string // of the cells' styles
}

// read reads the sheet of a name, or the first one, row by row, and then its merged cells.
func read(workbook []byte, name string, row func(line int, hidden bool, cells []cell) error,
	merged func(from, to coordinates) error) error {
	if len(workbook) > MaxFile {
		return errors.New("the workbook is larger than 32 MiB: save its sheet as CSV")
	}
	if other := sheet.OtherFormat(workbook); other != "" {
		return errors.New(other)
	}
	files, err := zip.NewReader(bytes.NewReader(workbook), int64(len(workbook)))
	if err != nil {
		return errWorkbook
	}
	b := &book{files: files}
	root, err := b.relations("")
	if err != nil {
		return err
	}
	main := root.of("/officeDocument")
	parts, err := b.relations(main)
	if err != nil {
		return err
	}
	part, err := b.choose(main, name, parts)
	if err != nil {
		return err
	}
	if err := b.readStrings(parts.of("/sharedStrings")); err != nil {
		return err
	}
	if err := b.readFormats(parts.of("/styles")); err != nil {
		return err
	}
	return b.readSheet(part, row, merged)
}

// relation is a relationship of a part to another one (ISO 29500-2).
type relation struct{ ID, Type, Target string }

type relations []relation

// of returns the part of a type, or "".
func (all relations) of(kind string) string {
	for _, r := range all {
		if strings.HasSuffix(r.Type, kind) {
			return r.Target
		}
	}
	return ""
}

// relations returns the relationships of a part; of the whole workbook, if its name is "".
func (b *book) relations(part string) (all relations, err error) {
	dir, file := path.Split(part)
	err = b.tokens(dir+"_rels/"+file+".rels", func(_ *xml.Decoder, tag xml.StartElement) error {
		if tag.Name.Local == "Relationship" {
			target := attribute(tag, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			all = append(all, relation{attribute(tag, "Id"), attribute(tag, "Type"), strings.TrimPrefix(target, "/")})
		}
		return nil
	})
	return all, err
}

// choose returns the part of a sheet.
func (b *book) choose(main, name string, parts relations) (part string, err error) {
	var names []string
	hidden := false
	err = b.tokens(main, func(_ *xml.Decoder, tag xml.StartElement) error {
		if tag.Name.Local != "sheet" {
			return nil
		}
		is := attribute(tag, "name")
		if names = append(names, sheet.Quote(is)); is == name || name == "" && len(names) == 1 {
			for _, r := range parts {
				if r.ID == attribute(tag, "id") {
					part, hidden = r.Target, name == "" && attribute(tag, "state") != "" && attribute(tag, "state") != "visible"
				}
			}
		}
		return nil
	})
	switch {
	case err != nil:
	case hidden:
		err = fmt.Errorf("its first sheet %s is hidden: name the sheet of the payments with --sheet", names[0])
	case part == "" && name != "" && len(names) > 0:
		err = fmt.Errorf("there is no sheet %s: it has %s", sheet.Quote(name), strings.Join(names, ", "))
	case part == "":
		err = errWorkbook
	}
	return part, err
}

// readStrings reads the texts that cells share.
func (b *book) readStrings(part string) error {
	if part == "" {
		return nil
	}
	return b.tokens(part, func(dec *xml.Decoder, tag xml.StartElement) error {
		if tag.Name.Local != "si" {
			return nil
		}
		text, err := textIn(dec)
		if b.strings = append(b.strings, text); len(b.strings) > maxStrings {
			return errors.New("the workbook has more than a million texts: save its sheet as CSV")
		}
		return err
	})
}

// textIn returns the text of an element whose start was read, such as si or is: that of all its t elements,
// without the pronunciation (rPh) that Japanese texts have.
func textIn(dec *xml.Decoder) (string, error) {
	var text strings.Builder
	var open []string
	for {
		token, err := dec.Token()
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "rPh" {
				if err := dec.Skip(); err != nil {
					return "", err
				}
				continue
			}
			open = append(open, token.Name.Local)
		case xml.EndElement:
			if len(open) == 0 {
				return text.String(), nil
			}
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && open[len(open)-1] == "t" {
				text.Write(token)
			}
		}
	}
}

// readFormats reads the number formats of the cells' styles.
func (b *book) readFormats(part string) error {
	if part == "" {
		return nil
	}
	custom := map[string]string{}
	return b.tokens(part, func(dec *xml.Decoder, tag xml.StartElement) error {
		switch tag.Name.Local {
		case "numFmt":
			custom[attribute(tag, "numFmtId")] = attribute(tag, "formatCode")
		case "cellStyleXfs", "dxfs":
			return dec.Skip()
		case "xf":
			id := attribute(tag, "numFmtId")
			format, found := custom[id]
			if !found {
				format = builtIn(id)
			}
			b.formats = append(b.formats, format)
		}
		return nil
	})
}

// tokens calls start for each element of a part.
func (b *book) tokens(part string, start func(*xml.Decoder, xml.StartElement) error) error {
	f, err := b.files.Open(part)
	if err != nil {
		return errWorkbook
	}
	defer f.Close()
	dec := xml.NewDecoder(&limited{in: f, left: maxPart})
	for {
		token, err := dec.Token()
		if err == nil {
			if tag, ok := token.(xml.StartElement); ok {
				err = start(dec, tag)
			}
		}
		var syntax *xml.SyntaxError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &syntax), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat), errors.Is(err, io.ErrUnexpectedEOF):
			return errWorkbook
		case err != nil:
			return err
		}
	}
}

// limited ends a part that would fill the memory: of too many bytes, in one text or tag, or of too many elements
// within each other.
type limited struct {
	in          io.Reader
	left, token int
	depth       int // elements that are open, more or less
	last        byte
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for _, c := range p[:n] {
		switch {
		case c == '<':
			l.depth++
		case l.last == '<' && c == '/':
			l.depth -= 2
		case l.last == '/' && c == '>':
			l.depth--
		}
		l.last = c
	}
	if i := bytes.LastIndexByte(p[:n], '<'); i >= 0 {
		l.token = n - i
	} else {
		l.token += n
	}
	if l.left -= n; l.left < 0 || l.token > maxToken || l.depth > maxDepth {
		return 0, errors.New("the workbook is too large when it is unpacked: save its sheet as CSV")
	}
	return n, err
}

func attribute(tag xml.StartElement, name string) string {
	for _, a := range tag.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func isTrue(value string) bool { on, _ := strconv.ParseBool(value); return on }
