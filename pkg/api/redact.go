package api

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// hiddenMark replaces the key or a piece of it.
const hiddenMark = "[hidden]"

const (
	// shortestPiece is the length of the shortest piece of the key that is hidden, in characters. A shorter
	// key is hidden only as a whole.
	shortestPiece = 8
	// shortestHex is the same for a piece in hexadecimal.
	shortestHex = 2 * shortestPiece
)

// A redactor hides a key in text, whole or in pieces and in every spelling: plain, in base64 or hexadecimal,
// and any of these escaped for JSON, C, URLs or HTML, up to mostLevels times. It ignores the case of letters.
// It is safe for concurrent use.
//
// A text without the key costs little. A table marks every three consecutive characters of each spelling. If
// a window of eight characters ends in three that are not marked, it cannot be a piece, and neither can the
// next five windows.
type redactor struct {
	keys   [][]byte // the key, and the result of unescaping the key itself
	hex    [][]byte // the same in hexadecimal
	public []byte   // the beginning of the key that is not secret
	short  bool     // the key is too short to be cut into pieces

	marked [1 << 16 / 64]uint64
	pieces map[uint64]spelling
}

type spelling uint8

const (
	asText spelling = 1 << iota // plain or in base64
	asHex
)

// mostLevels is how many levels of escapes are searched. A string in JSON in a string in JSON has two levels.
const mostLevels = 4

// span is a part of a text. Offsets have 32 bits to save memory: no text is much longer than maxAnswer.
type span struct{ from, to int32 }

// newRedactor returns nil, which hides nothing, if there is no key.
func newRedactor(key string) *redactor {
	if key == "" {
		return nil
	}
	r := &redactor{short: len(key) < shortestPiece, pieces: map[uint64]spelling{}}
	for text, level := []byte(key), 0; ; level++ {
		r.add(text)
		next, _, changed := unescapeAll(text, nil)
		if !changed || level == mostLevels {
			break
		}
		text = next
	}
	if strings.HasPrefix(key, SandboxKeyPrefix) {
		r.public = normalized([]byte(SandboxKeyPrefix))
	}
	return r
}

func (r *redactor) add(key []byte) {
	if r.short || len(key) < shortestPiece {
		r.keys = append(r.keys, slices.Clone(key))
		return
	}
	r.keys = append(r.keys, normalized(key))
	r.mark(key, asText)
	for before := range 3 { // bytes before the key, which decide how the bits of the key are divided
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), key...))
		// The characters that encode only bits of the key.
		first, end := (8*before+5)/6, 8*(before+len(key))/6
		r.mark([]byte(text[first:end]), asText)
	}
	digits := []byte(hex.EncodeToString(key))
	r.hex = append(r.hex, digits)
	r.mark(digits, asHex)
}

func (r *redactor) mark(text []byte, as spelling) {
	for i := range len(text) - shortestPiece + 1 {
		if n := piece(text[i:]); !publicPieces()[n] {
			r.pieces[n] |= as
		}
	}
	for i := range len(text) - 2 {
		at := three(text[i:])
		r.marked[at/64] |= 1 << (at % 64)
	}
}

// publicWords are the words of the interface that are long enough to be a piece of a key. They are no secret,
// and an answer without them could not be read.
const publicWords = "callback callback_url created_date currencies currency description due_date external_id external_number external_order_id " +
	"invite_info invoice_rebates invoice_stats is_testnet merchant_id order_id page_content page_count paid_amount retry_after statuses total_rebates total_volume"

var publicPieces = sync.OnceValue(func() map[uint64]bool {
	public := map[uint64]bool{}
	for word := range strings.FieldsSeq(publicWords) {
		for i := range len(word) - shortestPiece + 1 {
			public[piece([]byte(word[i:]))] = true
		}
	}
	return public
})

// normal maps characters to a form without the differences between capitals and small letters and between the
// two alphabets of base64.
var normal = func() (table [256]byte) {
	for i := range table {
		c := byte(i)
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '-':
			c = '+'
		case c == '_':
			c = '/'
		}
		table[i] = c
	}
	return table
}()

func normalized(text []byte) []byte {
	text = slices.Clone(text)
	for i, c := range text {
		text[i] = normal[c]
	}
	return text
}

// piece returns the first eight characters of a text as a number.
func piece(text []byte) (n uint64) {
	for _, c := range text[:shortestPiece] {
		n = n<<8 | uint64(normal[c])
	}
	return n
}

// three returns the index of a text's first three characters in the table.
func three(text []byte) uint32 {
	_ = text[2]
	n := uint32(normal[text[0]]) | uint32(normal[text[1]])<<8 | uint32(normal[text[2]])<<16
	return n * 2654435761 >> 16
}

// hide returns the text without the key. If the key is not in the text, it returns the text itself.
func (r *redactor) hide(text []byte) []byte {
	if r == nil {
		return text
	}
	found := r.find(text)
	if len(found) == 0 {
		return text
	}
	return replaced(text, found)
}

// body is hide for the body of an answer. It keeps the numbers of JSON, unless one of them has the whole key in
// it: no number of an answer may change.
func (r *redactor) body(text []byte) []byte {
	if r == nil {
		return text
	}
	found := r.find(text)
	if len(found) == 0 {
		return text
	}
	kept, next := make([]span, 0, len(found)), 0 // found[next:] are after the last number
	values := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		value, err := values.ReadToken()
		if errors.Is(err, io.EOF) {
			return replaced(text, append(kept, found[next:]...))
		}
		if err != nil { // it is not JSON
			return replaced(text, found)
		}
		if value.Kind() == '0' && !bytes.Contains(normalized([]byte(value.String())), r.keys[0]) {
			end := int32(values.InputOffset())
			begin := end - int32(len(value.String()))
			for ; next < len(found) && found[next].from < begin; next++ {
				kept = append(kept, found[next])
			}
			for next < len(found) && found[next].to <= end {
				next++
			}
		}
	}
}

func replaced(text []byte, found []span) []byte {
	out := make([]byte, 0, len(text))
	at := int32(0)
	for _, s := range found {
		out = append(append(out, text[at:s.from]...), hiddenMark...)
		at = s.to
	}
	return append(out, text[at:]...)
}

// text is hide for a string.
func (r *redactor) text(s string) string {
	if r == nil || s == "" {
		return s
	}
	var room [256]byte // enough for most header values without an allocation
	text := append(room[:0], s...)
	found := r.find(text)
	if len(found) == 0 {
		return s
	}
	return string(replaced(text, found))
}

// header hides the key in a header's names and values.
func (r *redactor) header(h http.Header) {
	for name, values := range h {
		for i, value := range values {
			values[i] = r.text(value)
		}
		if shown := r.text(name); shown != name {
			delete(h, name)
			h[shown] = append(h[shown], values...)
		}
	}
}

// find returns the places of the key in a text, in order and without overlap.
func (r *redactor) find(text []byte) []span {
	found := r.match(text, nil)
	if next := (escapes{text: text}); next.from(0) < len(text) {
		found = r.findEscaped(text, found)
	}
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		found[i] = wholeEscapes(text, found[i])
	}
	slices.SortFunc(found, func(a, b span) int { return int(a.from - b.from) })
	joined := found[:1]
	for _, s := range found[1:] {
		if last := &joined[len(joined)-1]; s.from <= last.to {
			last.to = max(last.to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// wholeEscapes widens a span that would cut the escape of a backslash, so that JSON remains valid.
func wholeEscapes(text []byte, s span) span {
	backslashes := func(before int32) (n int32) {
		for n < before && text[before-n-1] == '\\' {
			n++
		}
		return n
	}
	s.from -= backslashes(s.from) % 2
	if backslashes(s.to)%2 == 1 && int(s.to) < len(text) {
		_, n := escapeAt(text[s.to-1:])
		s.to += int32(max(n, 1)) - 1
	}
	return s
}

// match appends to found the places of the key in a text, read literally.
func (r *redactor) match(text []byte, found []span) []span {
	if r.short {
		for _, key := range r.keys {
			for at := 0; len(key) > 0; {
				i := bytes.Index(text[at:], key)
				if i < 0 {
					break
				}
				found = append(found, span{int32(at + i), int32(at + i + len(key))})
				at += i + len(key)
			}
		}
		return found
	}
	run := span{-1, -1}
	for i := 0; i+shortestPiece <= len(text); {
		at := three(text[i+shortestPiece-3:])
		if r.marked[at/64]&(1<<(at%64)) == 0 {
			i += shortestPiece - 2
			continue
		}
		if n := r.pieceAt(text[i:]); n > 0 {
			if int32(i) > run.to {
				found = r.keep(text, run, found)
				run.from = int32(i)
			}
			run.to = int32(i + n)
		}
		i++
	}
	return r.keep(text, run, found)
}

// pieceAt returns the length of the shortest hidden piece of the key at the beginning of a text, or 0.
func (r *redactor) pieceAt(text []byte) int {
	as := r.pieces[piece(text)]
	switch {
	case as&asText != 0:
		return shortestPiece
	case as&asHex != 0 && len(text) >= shortestHex:
		for digits, i := normalized(text[:shortestHex]), 0; i < len(r.hex); i++ {
			if bytes.Contains(r.hex[i], digits) {
				return shortestHex
			}
		}
	}
	return 0
}

// keep appends a run of pieces to found, unless it is not secret or is part of a longer number: nothing may
// change an amount or an order id by chance.
func (r *redactor) keep(text []byte, run span, found []span) []span {
	if run.from < 0 {
		return found
	}
	is := text[run.from:run.to]
	if !bytes.ContainsFunc(is, func(c rune) bool { return c < '0' || c > '9' }) &&
		(run.from > 0 && isDigit(text[run.from-1]) || int(run.to) < len(text) && isDigit(text[run.to])) {
		return found
	}
	if r.public != nil {
		key, is := r.keys[0], normalized(is)
		if at := bytes.Index(key, is); at >= 0 && at+len(is) < min(len(key), len(r.public)+4) {
			return found
		}
	}
	return append(found, run)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

const (
	nearby     = 2 * shortestHex // escapes this close to each other may belong to one piece
	mostAtOnce = 4 << 10         // bytes that are unescaped at once
	overlap    = 1 << 10         // bytes that are unescaped again with the bytes after them
)

// findEscaped appends to found the places of the key in a text that is unescaped, once and repeatedly. It
// looks only at the escapes and the text around them, a few at a time.
func (r *redactor) findEscaped(text []byte, found []span) []span {
	next := escapes{text: text}
	var room [2]levelRoom
	for at := next.from(0); at < len(text); {
		// The part begins and ends in text without escapes, so it cuts none.
		begin, end, any := max(0, at-nearby/2), at, false
		for at-end <= nearby && at < len(text) {
			_, n := escapeAt(text[at:])
			any = any || n > 0
			end = at + max(n, 1)
			at = next.from(end)
		}
		if !any {
			continue
		}
		end = min(len(text), end+nearby/2)
		for begin < end {
			stop := min(end, begin+mostAtOnce)
			var again int
			found, again = r.unescapeAndMatch(text, begin, stop, found, &room)
			if stop == end {
				break
			}
			begin = again
		}
	}
	return found
}

// levelRoom holds unescaped text, and where each of its characters begins in the original text, with the end
// of the last one.
type levelRoom struct {
	text []byte
	at   []int32
}

// unescapeAndMatch searches a part of a text on every level. It returns where the next part begins, which is
// never inside an escape.
func (r *redactor) unescapeAndMatch(text []byte, begin, stop int, found []span, room *[2]levelRoom) ([]span, int) {
	again := stop
	level, at := text[begin:stop], []int32(nil)
	for n := range mostLevels {
		to := &room[n%2]
		var changed bool
		to.text, to.at = slices.Grow(to.text[:0], len(level)), slices.Grow(to.at[:0], len(level)+1)
		to.text, to.at, changed = appendUnescaped(to.text, to.at, level, at, int32(begin))
		if n == 0 {
			again = int(to.at[0])
			for _, from := range to.at {
				if int(from) > max(stop-overlap, begin) {
					again = int(from)
					break
				}
			}
		}
		if !changed {
			break
		}
		have := len(found)
		found = r.match(to.text, found)
		for i := have; i < len(found); i++ {
			found[i] = span{to.at[found[i].from], to.at[found[i].to]}
		}
		level, at = to.text, to.at
	}
	return found, max(again, begin+1)
}

// unescapeAll is appendUnescaped for a text that is not part of another.
func unescapeAll(text []byte, at []int32) ([]byte, []int32, bool) {
	return appendUnescaped(nil, nil, text, at, 0)
}

// appendUnescaped appends a text with each escape replaced by its character. It also appends the position of
// each character in the first level's text, and then the position of the end. at has the positions of the
// characters of text; if it is nil, they begin at base.
func appendUnescaped(out []byte, outAt []int32, text []byte, at []int32, base int32) ([]byte, []int32, bool) {
	where := func(i int) int32 {
		if at == nil {
			return base + int32(i)
		}
		return at[i]
	}
	changed := false
	for i := 0; i < len(text); {
		c, n := escapeAt(text[i:])
		switch {
		case n == 0:
			out, outAt = append(out, text[i]), append(outAt, where(i))
			n = 1
		case c >= 0:
			out, outAt = append(out, byte(c)), append(outAt, where(i))
			changed = true
		default:
			changed = true
		}
		i += n
	}
	return out, append(outAt, where(len(text))), changed
}

// beyond represents any character beyond ASCII. No key contains one.
const beyond = 0xff

// escapeAt returns the character that an escape at the beginning of a text encodes, or -1 if it encodes none,
// and the length of the escape, or 0 if there is no escape.
func escapeAt(text []byte) (c, n int) {
	switch text[0] {
	case 0: // every other byte of UTF-16
		return -1, 1
	case '%':
		if len(text) > 1 && text[1] == 'u' {
			return digitsAt(text, 2, 4, 16)
		}
		return digitsAt(text, 1, 2, 16)
	case '\\':
		if len(text) < 2 {
			return 0, 0
		}
		switch text[1] {
		case 'u':
			return digitsAt(text, 2, 4, 16)
		case 'U':
			return digitsAt(text, 2, 8, 16)
		case 'x':
			return digitsAt(text, 2, 2, 16)
		case 'a', 'b', 'f', 'n', 'r', 't', 'v':
			return ' ', 2 // no key has such a character
		case '0', '1':
			if c, n := digitsAt(text, 1, 3, 8); n > 0 {
				return c, n
			}
		}
		return int(text[1]), 2
	case '&':
		return entity(text)
	}
	return 0, 0
}

// digitsAt reads the given number of digits of an escape, in base 8 or 16.
func digitsAt(text []byte, from, digits, base int) (c, n int) {
	if len(text) < from+digits {
		return 0, 0
	}
	for _, d := range text[from : from+digits] {
		value := strings.IndexByte("0123456789abcdef"[:base], normal[d])
		if value < 0 {
			return 0, 0
		}
		c = min(c*base+value, beyond)
	}
	return c, from + digits
}

// entity reads a character reference of HTML. A numeric one may lack its semicolon.
func entity(text []byte) (c, n int) {
	if len(text) > 1 && text[1] == '#' {
		digits, base, at := "0123456789", 10, 2
		if len(text) > 2 && normal[text[2]] == 'x' {
			digits, base, at = "0123456789abcdef", 16, 3
		}
		first := at
		for ; at < len(text); at++ {
			value := strings.IndexByte(digits, normal[text[at]])
			if value < 0 {
				break
			}
			c = min(c*base+value, beyond)
		}
		if at == first {
			return 0, 0
		}
		if at < len(text) && text[at] == ';' {
			at++
		}
		return c, at
	}
	const longest = 24
	end := bytes.IndexByte(text[:min(len(text), longest)], ';')
	if end < 2 {
		return 0, 0
	}
	name := string(text[:end+1])
	if plain := html.UnescapeString(name); plain != name {
		if len(plain) == 1 {
			return int(plain[0]), len(name)
		}
		return beyond, len(name)
	}
	return 0, 0
}

// escapes finds the characters that may begin an escape.
type escapes struct {
	text []byte
	next [4]int // the next position of each character; updated only after it is passed
}

func (e *escapes) from(at int) int {
	first := len(e.text)
	for i, c := range []byte{'\\', '%', '&', 0} {
		if e.next[i] <= at {
			e.next[i] = len(e.text)
			if n := bytes.IndexByte(e.text[min(at, len(e.text)):], c); n >= 0 {
				e.next[i] = at + n
			}
		}
		first = min(first, e.next[i])
	}
	return first
}

// keyless hides the key in everything that a transport returns.
type keyless struct {
	next http.RoundTripper
	key  *redactor
}

func (k keyless) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := k.next.RoundTrip(req)
	if k.key == nil || resp == nil && err == nil {
		return resp, err
	}
	if err != nil {
		return nil, k.key.err(err)
	}
	resp.Status = k.key.text(resp.Status)
	k.key.header(resp.Header)
	if body, ok := resp.Body.(*answer); ok {
		body.set(k.key.body(body.text))
	}
	return resp, nil
}

// err returns an error without the key. If the key is not in its text, it returns the error itself.
func (r *redactor) err(err error) error {
	text := err.Error()
	shown := r.text(text)
	if shown == text {
		return err
	}
	unsent := (interface{ NotSent() bool })(nil)
	return redactedError{
		text: shown, unsent: errors.As(err, &unsent) && unsent.NotSent(),
		is: func(target error) bool { return errors.Is(err, target) },
	}
}

// redactedError replaces an error that has the key in its text. errors.Is finds the same errors in it, but it
// does not expose the original.
type redactedError struct {
	text   string
	unsent bool
	is     func(target error) bool
}

func (e redactedError) Error() string        { return e.text }
func (e redactedError) NotSent() bool        { return e.unsent }
func (e redactedError) Is(target error) bool { return e.is(target) }
