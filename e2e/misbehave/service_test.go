//go:build unix

package misbehave

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// faults says how a service misbehaves. The zero value is a service that behaves.
type faults struct {
	create string // "400", "drop before", "drop after", "hang"; "OK" answers that, and keeps nothing
	list   int    // the status of every answer to a list

	dropOrderIDs  string                // "once": in one reading of a withdrawal; "always": also on the list
	missing       int                   // so many readings of a withdrawal say that there is none
	spell         func(int64) [2]any    // external_order_id and external_id on the list
	forgetNewest  bool                  // the list does not show the newest withdrawal
	recentOnly    int                   // the list shows and counts only so many of the newest
	totalTooLarge int                   // total counts so many more
	pageIgnored   bool                  // every page is page one
	pageCap       int                   // most withdrawals of a page; 0 means no cap
	merchant      string                // of every record, instead of m-1
	twice         func([]shown) []shown // what the list shows, instead of one record for a withdrawal
	clockOffset   time.Duration         // of the Date header
	times         int                   // how many answers misbehave; 0 means all of them
}

const wireTime = "2006-01-02T15:04:05"

// A withdrawal is what the service has taken.
type withdrawal struct {
	id, orderID, address string
	amount               int64
	at                   time.Time
}

// shown is a withdrawal as an answer has it.
type shown map[string]any

// service is a merchant payment service that misbehaves.
type service struct {
	*httptest.Server
	t       *testing.T
	held    chan struct{} // gets a value when a create hangs
	release chan struct{} // a value answers that create

	mu             sync.Mutex
	is             faults
	taken          []withdrawal // the oldest first
	creates, lists int
	allowed        map[int64]int // how often an amount may be paid, if not once
}

func newService(t *testing.T, is faults) *service {
	s := &service{t: t, is: is, held: make(chan struct{}, 1), release: make(chan struct{}), allowed: map[int64]int{}}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /api/merchant_withdrawal/create", s.create)
	routes.HandleFunc("GET /api/merchant_withdrawal", s.get)
	routes.HandleFunc("POST /api/merchant_withdrawal/list", s.list)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		w.Header().Set("Date", time.Now().Add(s.is.clockOffset).UTC().Format(http.TimeFormat))
		s.mu.Unlock()
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// become changes how the service misbehaves, and returns how it did before.
func (s *service) become(is faults) (was faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, s.is = s.is, is
	return was
}

// book takes a withdrawal that till did not send, or sent from elsewhere.
func (s *service) book(orderID string, amount int64) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(withdrawal{orderID: orderID, address: "bc1qexample", amount: amount})
}

func (s *service) take(w withdrawal) string {
	w.id, w.at = fmt.Sprintf("w-%d", len(s.taken)+1), time.Now().UTC()
	s.taken = append(s.taken, w)
	return w.id
}

// ids returns the ids of the withdrawals of an amount. Each test gives every payment an amount of its own.
func (s *service) ids(amount int64) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.taken {
		if w.amount == amount {
			ids = append(ids, w.id)
		}
	}
	return ids
}

// check fails the test if an order or a payment was taken twice.
func (s *service) check() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	times := map[string]int{}
	for _, w := range s.taken {
		payment := fmt.Sprint("the payment of ", w.amount)
		if times[payment]++; times[payment] > max(1, s.allowed[w.amount]) {
			s.t.Error(payment, "is made again")
		}
		order := "order " + w.orderID
		if times[order]++; times[order] > 1 && w.orderID != "" {
			s.t.Error(order, "is paid again")
		}
	}
}

func (s *service) count() (creates, lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.creates, s.lists
}

func (s *service) create(w http.ResponseWriter, r *http.Request) {
	var c struct {
		Amount  struct{ Crypto map[string]int64 } `json:"amount"`
		Address string                            `json:"address"`
		OrderID string                            `json:"external_order_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		refuse(w, http.StatusBadRequest)
		return
	}
	taken := withdrawal{orderID: c.OrderID, address: c.Address, amount: c.Amount.Crypto["Btc"]}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.creates++
	switch s.is.create {
	case "400":
		refuse(w, http.StatusBadRequest)
	case "OK":
		fmt.Fprint(w, `"OK"`)
	case "drop before":
		panic(http.ErrAbortHandler)
	case "hang":
		s.held <- struct{}{}
		s.mu.Unlock()
		select {
		case <-r.Context().Done():
			s.mu.Lock()
		case <-s.release:
			s.mu.Lock()
			json.NewEncoder(w).Encode(s.take(taken))
		}
	case "drop after":
		s.take(taken)
		panic(http.ErrAbortHandler)
	default:
		json.NewEncoder(w).Encode(s.take(taken))
	}
}

func (s *service) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.answered()
	s.is.missing--
	for _, taken := range s.taken {
		if s.is.missing < 0 && taken.id == r.URL.Query().Get("id") {
			json.NewEncoder(w).Encode(s.show(taken, false))
			return
		}
	}
	refuse(w, http.StatusNotFound)
}

func (s *service) list(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("page_size"))
	var filter struct{ From, To string }
	json.NewDecoder(r.Body).Decode(&filter)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	defer s.answered()
	if s.is.list != 0 {
		refuse(w, s.is.list)
		return
	}
	all := []shown{}
	for i := len(s.taken) - 1; i >= 0; i-- {
		taken := s.taken[i]
		hidden := s.is.recentOnly > 0 && len(s.taken)-i > s.is.recentOnly || s.is.forgetNewest && i == len(s.taken)-1
		if !hidden && s.matches(taken.at, filter.From, filter.To) {
			all = append(all, s.show(taken, true))
		}
	}
	if s.is.twice != nil {
		all = s.is.twice(all)
	}
	if s.is.pageCap > 0 {
		size = min(size, s.is.pageCap)
	}
	size = max(size, 1)
	if s.is.pageIgnored {
		page = 1
	}
	content := all[min(len(all), max(0, page-1)*size):min(len(all), max(1, page)*size)]
	json.NewEncoder(w).Encode(map[string]any{"page_content": content, "page_count": (len(all) + size - 1) / size,
		"total": len(all) + s.is.totalTooLarge})
}

// answered ends the misbehaviour after the last of its answers.
func (s *service) answered() {
	if s.is.times > 0 {
		if s.is.times--; s.is.times == 0 {
			s.is = faults{}
		}
	}
}

// matches compares times as text, which is right as long as they are in one layout.
func (s *service) matches(at time.Time, from, to string) bool {
	return from <= at.Format(wireTime) && (to == "" || at.Format(wireTime) < to)
}

func (s *service) show(w withdrawal, listed bool) shown {
	r := shown{
		"id": w.id, "merchant_id": cmp.Or(s.is.merchant, "m-1"), "currency": shown{"Crypto": "Btc"},
		"amount":   shown{"Crypto": shown{"Btc": w.amount}},
		"statuses": []shown{{"status": "New", "at": w.at.Format(wireTime)}}, "current": "New",
		"is_testnet": false, "address": w.address,
	}
	if listed {
		r["address"] = shown{"Crypto": shown{"currency": "Btc", "address": w.address}}
	}
	n, err := strconv.ParseInt(w.orderID, 10, 64)
	switch {
	case err != nil || s.is.dropOrderIDs == "always":
	case s.is.dropOrderIDs == "once" && !listed:
		s.is.dropOrderIDs = ""
	case s.is.spell != nil:
		for i, name := range []string{"external_order_id", "external_id"} {
			if value := s.is.spell(n)[i]; value != absent {
				r[name] = value
			}
		}
	default:
		r["external_order_id"], r["external_id"] = w.orderID, n
	}
	return r
}

const absent = "absent" // the value of a field that a record does not have

func refuse(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "reason": "refused",
		"description": http.StatusText(status)}})
}
