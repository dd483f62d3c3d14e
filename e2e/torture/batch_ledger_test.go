//go:build unix

package torture

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A row's callback address is part of the plan when the plan is made, so it cannot carry instructions for the
// ledger. Instead, the ledger gets its instructions beforehand, for each attempt and each order. It pays
// orders without instructions.

// script has the instructions for the rows of one attempt.
type script struct {
	Attempt int
	Key     string
	Rows    map[string]instruction
}

func (i instruction) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

func (i *instruction) UnmarshalText(text []byte) error {
	*i = readInstruction(string(text))
	return nil
}

const fromTests = "http://127.0.0.1:1/?"

// instructed returns the instruction for a create.
func (l *ledger) instructed(header http.Header, orderID, callback string) instruction {
	if strings.HasPrefix(callback, fromTests) {
		return readInstruction(callback)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := header.Get("Authorization")
	n, err := strconv.Atoi(header.Get("X-Torture"))
	if err != nil {
		n = l.at[key]
	}
	i, found := l.scripts[n][orderID]
	if !found {
		i = instruction{fault: "ok", commit: true}
	}
	i.n = n
	l.creates[key] = append(l.creates[key], created{n, orderID, i.name()})
	return i
}

// paused waits until a merchant may have another payment. The caller holds the lock, which paused releases
// while it waits.
func (l *ledger) paused(key string) {
	for {
		made := 0
		for _, p := range l.payments {
			if p.Key == key {
				made++
			}
		}
		if l.pauses[key] == 0 || made < l.pauses[key] {
			return
		}
		l.mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		l.mu.Lock()
	}
}

func (l *ledger) batchControls(mux *http.ServeMux) {
	mux.HandleFunc("/script", func(w http.ResponseWriter, r *http.Request) {
		var s script
		if err := json.Unmarshal([]byte(r.FormValue("script")), &s); err != nil {
			http.Error(w, err.Error(), 400)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.scripts[s.Attempt], l.at[s.Key], l.released[s.Attempt] = s.Rows, s.Attempt, make(chan struct{})
	})
	mux.HandleFunc("/steady", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.steady[r.FormValue("key")] = r.FormValue("steady") == "true"
	})
	mux.HandleFunc("/pause-at", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pauses[r.FormValue("key")], _ = strconv.Atoi(r.FormValue("payments"))
	})
	mux.HandleFunc("/creates", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		json.NewEncoder(w).Encode(l.creates[r.FormValue("key")])
	})
	// over ends an attempt: calls that still wait get their answer.
	mux.HandleFunc("/over", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		n, _ := strconv.Atoi(r.FormValue("n"))
		if l.released[n] != nil {
			close(l.released[n])
			delete(l.released, n)
		}
	})
	mux.HandleFunc("/settle", func(w http.ResponseWriter, r *http.Request) {
		orders := strings.Split(r.FormValue("orders"), ",")
		l.mu.Lock()
		defer l.mu.Unlock()
		for n, p := range l.payments {
			if p.Key == r.FormValue("key") && slices.Contains(orders, p.OrderID) {
				l.payments[n].settled = true
			}
		}
	})
	mux.HandleFunc("/late", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		orders := []string{}
		for _, p := range l.held {
			if p.Key == r.FormValue("key") {
				orders = append(orders, p.OrderID)
			}
		}
		json.NewEncoder(w).Encode(orders)
	})
	mux.HandleFunc("/pay-late", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = slices.DeleteFunc(l.held, func(p payment) bool {
			if p.Key != r.FormValue("key") {
				return false
			}
			l.payments = append(l.payments, p)
			return true
		})
	})
	// forget keeps the lists of a long run short.
	mux.HandleFunc("/forget", func(w http.ResponseWriter, r *http.Request) {
		key := r.FormValue("key")
		l.mu.Lock()
		defer l.mu.Unlock()
		l.payments = slices.DeleteFunc(l.payments, func(p payment) bool { return p.Key == key })
		for _, c := range l.creates[key] {
			delete(l.scripts, c.Attempt)
		}
		delete(l.creates, key)
		delete(l.at, key)
		delete(l.steady, key)
	})
}
