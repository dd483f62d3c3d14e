package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// BenchmarkServer measures requests over HTTP, with the state in memory and in a file.
//
// Run with: go test -run xxx -bench Server -cpu 2
func BenchmarkServer(b *testing.B) {
	for name, box := range map[string]box{
		"memory": newBox(b), "file": newBox(b, sandbox.WithState(filepath.Join(b.TempDir(), "box.db"))),
	} {
		defer box.Close()
		server := httptest.NewServer(box.Server)
		defer server.Close()
		id := box.create(createPath, btcBody)
		for _, c := range [][3]string{{"POST", createPath, btcBody}, {"GET", getPath + id, ""}} {
			b.Run(name+"/"+c[0], func(b *testing.B) {
				b.SetParallelism(16) // with two processors, 32 connections
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if status, text, err := ask(box.Key(), c[0], server.URL+c[1], c[2]); status != 200 {
							b.Error(status, text, err)
						}
					}
				})
			})
		}
	}
}

// BenchmarkHandler measures without the network.
func BenchmarkHandler(b *testing.B) {
	box := newBox(b)
	id := box.create(createPath, btcBody)
	for name, c := range map[string][3]string{
		"create": {"POST", createPath, btcBody}, "get": {"GET", getPath + id, ""},
		"list": {"POST", listPath + "?page_size=100", everything},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, _ := http.NewRequest(c[0], "http://localhost"+c[1], strings.NewReader(c[2]))
				r.Header.Set("Authorization", "Bearer "+box.Key())
				box.Server.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}
