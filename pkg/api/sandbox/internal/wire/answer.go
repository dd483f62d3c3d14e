package wire

import (
	"bytes"
	"encoding/json"
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
