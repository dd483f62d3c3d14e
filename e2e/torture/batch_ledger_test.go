//go:build unix

package torture

import (
	"net/http"
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
