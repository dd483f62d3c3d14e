package sandbox_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// bare returns the smallest server of these two operations: it decodes, stores and encodes. It is the
// baseline for the sandbox.
func bare() http.Handler {
	type status struct {
		Status string `json:"status"`
		At     string `json:"at"`
	}
	type record struct {
		ID       string                      `json:"id"`
		Currency map[string]string           `json:"currency"`
		Amount   map[string]map[string]int64 `json:"amount"`
		Statuses []status                    `json:"statuses"`
		Current  string                      `json:"current"`
		Address  string                      `json:"address"`
	}
	var mu sync.Mutex
	kept := map[string]record{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/merchant_withdrawal/create", func(w http.ResponseWriter, r *http.Request) {
		var v record
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		v.Statuses = []status{{"New", time.Now().UTC().Format(time.RFC3339)}}
		mu.Lock()
		v.ID = fmt.Sprint(len(kept))
		kept[v.ID] = v
		mu.Unlock()
		json.NewEncoder(w).Encode(v.ID)
	})
	mux.HandleFunc("GET /api/merchant_withdrawal", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		v := kept[r.URL.Query().Get("id")]
		mu.Unlock()
		json.NewEncoder(w).Encode(v)
	})
	return mux
}

// BenchmarkServer measures requests over HTTP.
//
// Run with: go test -run xxx -bench Server -cpu 2
func BenchmarkServer(b *testing.B) {
	box, err := sandbox.New()
	if err != nil {
		b.Fatal(err)
	}
	for _, side := range []struct {
		name    string
		handler http.Handler
	}{{"bare", bare()}, {"sandbox", box}} {
		server := httptest.NewServer(side.handler)
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		do := func(method, path, body string) (text string) {
			r, _ := http.NewRequest(method, server.URL+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+box.Key())
			answer, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			raw, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if answer.StatusCode != 200 {
				b.Errorf("%d %s", answer.StatusCode, raw)
			}
			return strings.Trim(string(raw), "\"\n")
		}
		id := do("POST", createPath, btcBody)
		b.Run("create/"+side.name, func(b *testing.B) {
			b.SetParallelism(16) // with two processors, 32 connections
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					do("POST", createPath, btcBody)
				}
			})
		})
		b.Run("get/"+side.name, func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					do("GET", getPath+id, "")
				}
			})
		})
		server.Close()
	}
}

// BenchmarkHandler measures without the network.
func BenchmarkHandler(b *testing.B) {
	box := newBox(b)
	id := box.create(createPath, btcBody)
	run := func(name, method, path, body string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, _ := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+box.Key())
				box.Server.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
	run("create", "POST", createPath, btcBody)
	run("get", "GET", getPath+id, "")
	run("list", "POST", listPath+"?page_size=100", everything)
}

// bareFile returns the smallest durable create: one SQLite transaction for each request.
func bareFile(b *testing.B) http.Handler {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(),
		"bare.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(20000)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE kept (id INTEGER PRIMARY KEY, body BLOB)"); err != nil {
		b.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v map[string]any
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &v)
		}
		if err == nil {
			_, err = db.Exec("INSERT INTO kept (body) VALUES (?)", body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode("kept")
	})
}

// BenchmarkFile measures requests with a state in a file.
//
// Run with: go test -run xxx -bench File -cpu 2
func BenchmarkFile(b *testing.B) {
	box, err := sandbox.New(sandbox.WithState(filepath.Join(b.TempDir(), "box.db")))
	if err != nil {
		b.Fatal(err)
	}
	defer box.Close()
	for _, side := range []struct {
		name    string
		handler http.Handler
	}{{"bare", bareFile(b)}, {"sandbox", box}} {
		server := httptest.NewServer(side.handler)
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		b.Run("create/"+side.name, func(b *testing.B) {
			b.SetParallelism(16) // with two processors, 32 connections
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, _ := http.NewRequest("POST", server.URL+createPath, strings.NewReader(btcBody))
					r.Header.Set("Authorization", "Bearer "+box.Key())
					answer, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
					if answer.StatusCode != 200 {
						b.Error(answer.Status)
					}
				}
			})
		})
		server.Close()
	}
}
