package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

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
)

var errWorkbook = errors.New("it is no workbook (.xlsx) that can be read, or a password protects it: save it again, or as CSV")

// book is a workbook that was opened for one of its sheets. It keeps its first error, and reads nothing more.
type book struct {
	files   *zip.Reader
	sheet   string   // the part with its rows
	names   []string // of the visible sheets, if the first one was taken without being named
	texts   []string
	formats []string // of the cells' styles
	merged  []area
	err     error
}

// open opens a workbook for the sheet of a name, or for its first one.
func open(workbook []byte, name string) *book {
	if len(workbook) > MaxFile {
		return &book{err: errors.New("the workbook is larger than 32 MiB: save its sheet as CSV")}
	}
	if other := sheet.OtherFormat(workbook); other != "" {
		return &book{err: errors.New(other)}
	}
	files, err := zip.NewReader(bytes.NewReader(workbook), int64(len(workbook)))
	if err != nil {
		return &book{err: errWorkbook}
	}
	b := &book{files: files}
	main := b.relations("").of("/officeDocument")
	parts := b.relations(main)
	b.choose(main, name, parts)
	b.readTexts(parts.of("/sharedStrings"))
	b.readFormats(parts.of("/styles"))
	return b
}

// relations are the relationships of a part to others (ISO 29500-2).
type relations []struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
}

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
func (b *book) relations(part string) relations {
	var file struct {
		All relations `xml:"Relationship"`
	}
	dir, name := path.Split(part)
	b.decode(dir+"_rels/"+name+".rels", &file)
	for i, r := range file.All {
		if !strings.HasPrefix(r.Target, "/") {
			r.Target = path.Join(dir, r.Target)
		}
		file.All[i].Target = strings.TrimPrefix(r.Target, "/")
	}
	return file.All
}

// choose finds the part of a sheet.
func (b *book) choose(main, name string, parts relations) {
	var file struct {
		Sheets []struct {
			Name  string `xml:"name,attr"`
			ID    string `xml:"id,attr"`
			State string `xml:"state,attr"`
		} `xml:"sheets>sheet"`
	}
	b.decode(main, &file)
	var names, visible []string
	hidden := false
	for i, s := range file.Sheets {
		if names = append(names, sheet.Quote(s.Name)); s.State == "" || s.State == "visible" {
			visible = append(visible, sheet.Quote(s.Name))
		}
		for _, r := range parts {
			if r.ID == s.ID && (s.Name == name || name == "" && i == 0) {
				b.sheet, hidden = r.Target, name == "" && s.State != "" && s.State != "visible"
			}
		}
	}
	if name == "" && len(visible) > 1 {
		b.names = visible
	}
	switch {
	case b.err != nil:
	case hidden:
		b.err = fmt.Errorf("its first sheet %s is hidden: name the sheet of the payments with --sheet", names[0])
	case b.sheet == "" && name != "" && len(names) > 0:
		b.err = fmt.Errorf("there is no sheet %s: it has %s", sheet.Quote(name), strings.Join(names, ", "))
	case b.sheet == "":
		b.err = errWorkbook
	}
}

// richText is a text that may have formatted runs. The pronunciation (rPh) that Japanese texts have is left out.
type richText struct {
	Plain string   `xml:"t"`
	Runs  []string `xml:"r>t"`
}

func (t richText) String() string { return unescape(t.Plain + strings.Join(t.Runs, "")) }

// escapes finds the characters that XML cannot have, such as a carriage return: as _x000D_ (ST_Xstring, ISO/IEC 29500-1,
// 22.9.2.19).
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`) })

func unescape(text string) string {
	return escapes().ReplaceAllStringFunc(text, func(e string) string {
		code, _ := strconv.ParseUint(e[2:6], 16, 16)
		return string(rune(code))
	})
}

// readTexts reads the texts that cells share. A workbook may have none, and no styles.
func (b *book) readTexts(part string) {
	if part == "" {
		return
	}
	b.elements(part, func(dec *xml.Decoder, tag xml.StartElement) error {
		if tag.Name.Local != "si" {
			return nil
		}
		var text richText
		err := dec.DecodeElement(&text, &tag)
		if b.texts = append(b.texts, text.String()); len(b.texts) > maxStrings {
			return errors.New("the workbook has more than a million texts: save its sheet as CSV")
		}
		return err
	})
}

// readFormats reads the number formats of the cells' styles.
func (b *book) readFormats(part string) {
	if part == "" {
		return
	}
	var file struct {
		Formats []struct {
			ID   string `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Styles []struct {
			Format string `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	b.decode(part, &file)
	custom := map[string]string{}
	for _, format := range file.Formats {
		custom[format.ID] = format.Code
	}
	for _, s := range file.Styles {
		format, found := custom[s.Format]
		if !found {
			format = builtIn(s.Format)
		}
		b.formats = append(b.formats, format)
	}
}

// decode decodes a part.
func (b *book) decode(part string, into any) {
	b.elements(part, func(dec *xml.Decoder, tag xml.StartElement) error { return dec.DecodeElement(into, &tag) })
}

// errStop ends the reading of a part whose reader wants no more.
var errStop = errors.New("no more is wanted")

// elements calls start for each element of a part that start did not read itself.
func (b *book) elements(part string, start func(*xml.Decoder, xml.StartElement) error) {
	if b.err != nil {
		return
	}
	f, err := b.files.Open(part)
	if err != nil {
		b.err = errWorkbook
		return
	}
	defer f.Close()
	dec := xml.NewDecoder(&limited{in: f, left: maxPart})
	for err == nil {
		var token xml.Token
		token, err = dec.Token()
		if tag, ok := token.(xml.StartElement); ok && err == nil {
			err = start(dec, tag)
		}
	}
	var syntax *xml.SyntaxError
	switch {
	case err == io.EOF, err == errStop:
	case errors.As(err, &syntax), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat), errors.Is(err, io.ErrUnexpectedEOF):
		b.err = errWorkbook
	default:
		b.err = err
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
	l.left -= n
	for _, c := range p[:n] {
		l.token++
		switch {
		case c == '<':
			l.depth++
			l.token = 0
		case l.last == '<' && c == '/':
			l.depth -= 2
		case l.last == '/' && c == '>':
			l.depth--
		}
		if l.last = c; l.left < 0 || l.token > maxToken || l.depth > maxDepth {
			return 0, errors.New("the workbook is too large when it is unpacked: save its sheet as CSV")
		}
	}
	return n, err
}
