package sheet

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// maxRecord is the most bytes in a line of a file, with its end.
const maxRecord = 64 << 10

// maxEndless is the most bytes of a line that are skipped to find its end. /dev/zero has none.
const maxEndless = 64 << 20

// textLines reads the lines of a file without their ends.
type textLines struct {
	in   *bufio.Reader // of maxRecord bytes
	utf8 bool          // the file itself is UTF-8
	ansi bool          // it is said to be windows-1252
	sure bool          // and has a line that is no UTF-8
	json bool          // and cannot be in another encoding
	kind string        // what it is instead of text
	line int
}

// newLines returns the lines of a file. A byte order mark decides its encoding, whatever the layout says.
func newLines(in io.Reader, encoding string) *textLines {
	raw := bufio.NewReaderSize(in, maxRecord)
	if start, _ := raw.Peek(firstBytes); noText(start) != "" {
		return &textLines{in: raw, kind: noText(start)}
	}
	start, _ := raw.Peek(2)
	switch {
	case bytes.Equal(start, []byte{0xff, 0xfe}) || bytes.Equal(start, []byte{0xfe, 0xff}) || encoding == UTF16 && !marked(raw):
		// without a mark, as Windows writes it
		in = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(raw)
	case encoding == Windows1252 && !marked(raw):
		return &textLines{in: raw, ansi: true}
	default:
		return &textLines{in: raw, utf8: true}
	}
	return &textLines{in: bufio.NewReaderSize(in, maxRecord)}
}

// firstBytes is how much of a file shows its format.
const firstBytes = 100

// noText says what a file is that begins so, and what to do, if it is one of a spreadsheet and no text.
func noText(start []byte) string {
	if other := OtherFormat(start); other != "" || !bytes.HasPrefix(start, []byte("PK\x03\x04")) {
		return other
	}
	return "it is a workbook, and no text: call it .xlsx or say --format xlsx, or save it as CSV"
}

// OtherFormat says what a file is, and what to do, if it is one of a spreadsheet that cannot be read at all.
func OtherFormat(file []byte) string {
	start := file[:min(len(file), firstBytes)]
	switch {
	case bytes.Contains(start, []byte("mimetypeapplication/vnd.oasis.opendocument")):
		return "it is an OpenDocument file (.ods): save it as .xlsx or CSV"
	case bytes.HasPrefix(start, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return "it is a workbook in the old format (.xls), or one with a password: save it as .xlsx without a password, or as CSV"
	}
	return ""
}

const mark = "\ufeff" // the byte order mark

func marked(raw *bufio.Reader) bool {
	start, _ := raw.Peek(len(mark))
	return string(start) == mark
}

// next returns a line, which may be empty. If the line is not valid text, it returns details instead.
func (t *textLines) next() (text string, wrong []Detail, err error) {
	if t.kind != "" {
		return "", Wrongf(0, "", "%s", t.kind), ErrInput
	}
	line, err := t.in.ReadSlice('\n')
	if err == io.EOF && len(line) == 0 {
		return "", nil, err
	}
	t.line++
	long := err == bufio.ErrBufferFull
	for n := 0; err == bufio.ErrBufferFull; n++ {
		if n == maxEndless/maxRecord {
			return "", Wrongf(t.line, "", "it has no end"), ErrInput
		}
		_, err = t.in.ReadSlice('\n')
	}
	switch {
	case err != nil && err != io.EOF:
		return "", nil, err
	case long:
		return "", Wrongf(t.line, "", "it is longer than %d bytes", maxRecord), nil
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	if t.ansi {
		if line, err = t.fromANSI(line); err != nil {
			return "", Wrongf(t.line, "", "it is UTF-8, and not windows-1252, which would show other letters: say --encoding utf-8"), err
		}
	}
	switch i := notUTF8(line); {
	case i >= 0:
		advice := "save the file as UTF-8, or say --encoding windows-1252"
		if t.json {
			advice = "save the file as UTF-8"
		}
		return "", Wrongf(t.line, "", "byte %d (0x%02x) is not UTF-8: %s", i+1, line[i], advice), ErrEncoding
	case !t.utf8 && bytes.ContainsRune(line, utf8.RuneError):
		return "", Wrongf(t.line, "", "it has bytes that are no characters: say another --encoding, or save the file as UTF-8"),
			ErrEncoding
	}
	if t.line == 1 {
		line = bytes.TrimPrefix(line, []byte(mark))
	}
	if text = strings.TrimSuffix(string(line), "\r"); strings.Contains(text, "\r") {
		return "", Wrongf(t.line, "", "it has a carriage return within it: save the file with other line ends"), nil
	}
	return text, nil, nil
}

// fromANSI decodes a line of windows-1252. A text in it is valid UTF-8 only if it has nothing but ASCII: the
// first line with more shows which of the two the file is.
func (t *textLines) fromANSI(line []byte) ([]byte, error) {
	if plain := strings.IndexFunc(string(line), func(r rune) bool { return r >= utf8.RuneSelf }) < 0; plain {
		return line, nil
	}
	if !t.sure && utf8.Valid(line) {
		return nil, ErrEncoding
	}
	t.sure = true
	return charmap.Windows1252.NewDecoder().Bytes(line)
}

// notUTF8 returns the index of the first byte that is not UTF-8, or -1.
func notUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size < 2 {
			return i
		}
		i += size
	}
}
