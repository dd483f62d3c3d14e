package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// helpers are the programs that this program runs when it starts itself.
var helpers = map[string]func(args []string){
	"-serve":       serveFixed,
	"-read-csv":    readCSV,
	"-bare":        serveBare,
	"-bare-file":   serveBareFile,
	"-serve-stats": serveStats,
	"-fetch-stats": fetchStats,
	"-copy":        func(args []string) { eachPage(args[0], copyPage) },
	"-apply":       applyBare,
	"-split":       func(args []string) { eachPage(args[0], splitPage) },
}

const pageSize = 1000

// serveFixed is a minimal service: fixed answers, and a list of the given number of withdrawals. A page of
// the list costs little more than copying it.
func serveFixed(args []string) {
	total := must(strconv.Atoi(args[0]))
	page, ids := template(total)
	pages := sync.Pool{New: func() any { b := bytes.Clone(page); return &b }}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+getPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, single)
	})
	mux.HandleFunc("POST "+createPath, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `"7c9e6679-7425-40de-944b-e07fc1f90ae7"`)
	})
	mux.HandleFunc("POST "+listPath, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		number, _ := strconv.Atoi(r.URL.Query().Get("page"))
		w.Header().Set("Content-Type", "application/json")
		if number*pageSize >= total { // the last page is full, so that till asks for one more
			fmt.Fprintf(w, `{"page_content":[],"page_count":%d,"total":%d}`, total/pageSize, total)
			return
		}
		text := pages.Get().(*[]byte)
		defer pages.Put(text)
		for i, at := range ids {
			copy((*text)[at:], fmt.Sprintf("%012d", number*pageSize+i))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(*text)))
		w.Write(*text)
	})
	untilStdinCloses(mux)
}

// untilStdinCloses serves on a port, prints its address, and ends when the benchmark ends.
func untilStdinCloses(handler http.Handler) {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	check(json.NewEncoder(os.Stdout).Encode(address{"http://" + listener.Addr().String()}))
	go http.Serve(listener, handler)
	must(io.Copy(io.Discard, os.Stdin))
}

const single = `{"id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","external_id":4711,"merchant_id":"acme","currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1500000}},"statuses":[{"status":"New","at":"2026-05-01T10:00:00"},{"status":"Sent","at":"2026-05-01T10:01:00"}],"current":"Sent","address":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq","is_testnet":false,"callback":"https://shop.example.com/withdrawn","external_order_id":"4711"}`

// template returns a page, and the places of the last twelve digits of its ids.
func template(total int) (page []byte, ids []int) {
	var b strings.Builder
	b.WriteString(`{"page_content":[`)
	for i := range pageSize {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"id":"7c9e6679-7425-40de-944b-`)
		ids = append(ids, b.Len())
		fmt.Fprintf(&b,
			`%012d","external_id":%d,"merchant_id":"5f1b8c1e-61c4-4c4c-9b7e-0c8e1f0a2b3c","currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":%d}},"statuses":[{"status":"New","at":"2026-05-01T10:00:00"},{"status":"Sent","at":"2026-05-01T10:01:00"}],"current":"Sent","address":{"Crypto":{"currency":"Btc","address":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"}},"is_testnet":false,"callback":"https://shop.example.com/withdrawn","external_order_id":"%d"}`, i, i+1, 1000+i, i+1)
	}
	fmt.Fprintf(&b, `],"page_count":%d,"total":%d}`, total/pageSize, total)
	return []byte(b.String()), ids
}

// eachPage fetches the pages of the list in turn, with as little work as possible, and writes the output of
// handle.
func eachPage(url string, handle func(out *bufio.Writer, body io.Reader)) {
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	client := &http.Client{Transport: &http.Transport{}}
	for number := range must(strconv.Atoi(os.Getenv("PAGES"))) {
		resp := must(client.Post(fmt.Sprintf("%s%s?page=%d&page_size=%d", url, listPath,
			number, pageSize),
			"application/json", strings.NewReader(`{"currencies":[],"tags":[]}`)))
		handle(out, resp.Body)
		resp.Body.Close()
	}
	check(out.Flush())
}

func copyPage(out *bufio.Writer, body io.Reader) { must(io.Copy(out, body)) }

// splitPage writes the records, one a line, and does nothing else.
func splitPage(out *bufio.Writer, body io.Reader) {
	dec := jsontext.NewDecoder(body)
	for must(dec.ReadToken()).Kind() != '[' {
	}
	for dec.PeekKind() != ']' {
		out.Write(must(dec.ReadValue()))
		out.WriteByte('\n')
	}
	must(io.Copy(io.Discard, body))
}
