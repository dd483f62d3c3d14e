//go:build unix

package torture

import (
	"encoding/json"
	"net/http"
	"net/url"
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

// instruct notes the instructions for an attempt, over ends one, so that its calls that still wait get their
// answer, and forget keeps the lists of a long run short. The caller of all three holds the lock.
func (l *ledger) instruct(q url.Values) any {
	var s script
	if err := json.Unmarshal([]byte(q.Get("script")), &s); err != nil {
		panic(err)
	}
	l.scripts[s.Attempt], l.at[q.Get("key")], l.released[s.Attempt] = s.Rows, s.Attempt, make(chan struct{})
	return nil
}

func (l *ledger) over(q url.Values) any {
	n, _ := strconv.Atoi(q.Get("n"))
	if l.released[n] != nil {
		close(l.released[n])
		delete(l.released, n)
	}
	return nil
}

func (l *ledger) forget(q url.Values) any {
	key := q.Get("key")
	l.payments = slices.DeleteFunc(l.payments, func(p payment) bool { return p.Key == key })
	for _, c := range l.creates[key] {
		delete(l.scripts, c.Attempt)
	}
	delete(l.creates, key)
	delete(l.at, key)
	delete(l.steady, key)
	return nil
}
