package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// WriteError writes a status and the envelope of an error.
func WriteError(w http.ResponseWriter, status, code int, reason, description string) {
	type envelope struct {
		Code        int    `json:"code"`
		Reason      string `json:"reason"`
		Description string `json:"description"`
	}
	WriteJSON(w, status, map[string]envelope{"error": {code, reason, description}})
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// WriteJSON writes a status and a body in JSON. It encodes the body first, so that it can set Content-Length.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false) // so that a URL stays readable
	if err := enc.Encode(body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError) // not reached: every answer is plain data
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(buf.Len()))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(buf.Bytes())
}

// ReadAhead reads the body of a request, at most limit bytes. It returns the request with a body that begins with
// them and goes on where they end, and leaves its own as it is.
func ReadAhead(r *http.Request, limit int64) (*http.Request, []byte) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	var ahead []byte
	var err error
	if n := r.ContentLength; n >= 0 && n <= min(limit, 64<<10) { // so long it is no waste if less arrives
		ahead = make([]byte, n)
		n, failed := io.ReadFull(r.Body, ahead)
		ahead, err = ahead[:n], failed
	} else {
		ahead, err = io.ReadAll(io.LimitReader(r.Body, limit))
	}
	rest := io.Reader(r.Body)
	if err != nil {
		rest = brokenReader{err} // the body would report it only once
	}
	again := r.WithContext(r.Context()) // a copy
	again.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(ahead), rest), r.Body}
	return again, ahead
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }
