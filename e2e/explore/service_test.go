package explore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A service pays whatever it is asked to pay, as often as it is asked.
type service struct {
	r       *run
	may     conduct
	rows    []*withdrawal       // newest first
	late    []*withdrawal       // requests that have got lost, and may still arrive
	made    int                 // payments
	asked   int                 // creates
	stale   bool                // its last list was stale
	whole   bool                // a list was not stale
	lied    bool                // it has answered a create with the id of another order
	denied  map[string]bool     // withdrawals that it has said it does not have
	phantom map[string]*process // ids of withdrawals that it has made up, and who was given them
	skew    time.Duration       // how far its clock is behind those of the processes
	content uint64              // hash of all that has happened to rows and late
}

// conduct is what a service may do.
type conduct struct {
	creates []choice
	lists   []choice
	gets    []choice
	lost    int    // how many creates do not end well, the first ones
	loses   choice // how they end; zero: they are held up, without an answer
	page    int    // rows on a page; 0: any number
	shows   bool   // after a stale list comes one that is not: a row that two readings lack cannot be seen
	steady  bool   // a list that is stale stays so until its first page is read again
	oneID   bool   // it answers the second create with the id of the first
	behind  bool   // the clocks of the machines are 16 minutes behind it
}

// A withdrawal is a row of the service.
type withdrawal struct {
	id, orderID string
	merchant    string
	body        map[string]any
	by          *process // nil: another program
	at          time.Time
	late        bool // the log of the journal was gone by then
	altered     int  // the step at which the service has altered it; 0: never
}

// What can happen to a create, apart from being accepted.
var (
	lostAnswer  = choice{fails, "which is accepted, and the answer is lost"}
	lostRequest = choice{fails, "which gets lost"}
	timesOut    = choice{fails, "which is accepted after the time limit of the call"}
	landsLate   = choice{fails, "which is held up on the way, without an answer"}
	isRejected  = choice{fails, "which is rejected"}
	neverLeaves = choice{fails, "of which no byte leaves"}
	isLimited   = choice{fails, "which is refused for the rate of calls"}
	redirected  = choice{fails, "which is accepted, and answered with a redirect"}
	cannotTell  = choice{fails, "which is accepted, and answered with HTTP 500"}
	invents     = choice{fails, "which is not accepted, and answered with a new id"}
	wrongID     = choice{what: "which is accepted, and answered with the id of another order"}
	diesBefore  = choice{dies, "and dies before a byte is written"}
	diesLate    = choice{dies, "and dies, with the request on its way"}
)

// What can happen to a list.
var (
	isStale   = choice{fails, "without the newest withdrawal"}
	listFails = choice{fails, "which fails"}
	anyCreate = []choice{lostAnswer, lostRequest, timesOut, landsLate, isRejected, neverLeaves, isLimited,
		redirected, cannotTell, diesBefore, diesLate}
	fewCreates = []choice{lostAnswer, landsLate, isRejected, neverLeaves, diesLate}
)

func newService(r *run, may conduct) *service {
	s := &service{r: r, may: may, denied: map[string]bool{}, phantom: map[string]*process{}}
	if may.behind {
		s.skew = -ahead
	}
	paid := r.world.paid
	if !r.world.empty {
		paid = append([]string{"1"}, paid...)
	}
	for _, id := range paid {
		s.pay(id, 5, firstKey)
	}
	return s
}

func (s *service) hash() uint64 { return s.content }

// client is the network as one process sees it.
type client struct {
	s *service
	p *process
}

// merchant returns whose key the process has.
func (c client) merchant() string { return merchant(cmp.Or(c.p.key, firstKey)) }

func (c client) RoundTrip(req *http.Request) (*http.Response, error) {
	var text []byte
	if req.Body != nil {
		text, _ = io.ReadAll(req.Body)
	}
	var status int
	var answer string
	var err error
	switch req.URL.Path {
	case "/api/merchant_withdrawal/create":
		status, answer, err = c.create(text)
	case "/api/merchant_withdrawal":
		status, answer, err = c.get(req.URL.Query().Get("id"))
	default:
		page, _ := strconv.Atoi(req.URL.Query().Get("page"))
		status, answer, err = c.list(page)
	}
	c.p.saw(status, answer, err)
	if err != nil {
		return nil, err
	}
	date := time.Now().Add(-c.s.skew).UTC().Format(http.TimeFormat)
	return &http.Response{StatusCode: status, Header: http.Header{"Date": {date}}, Request: req,
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer))}, nil
}

const envelope = `{"error":{"code":2004,"reason":"no_funds","description":"The balance is short."}}`

type neverLeft struct{ error }

func (neverLeft) NotSent() bool { return true }

func (c client) create(text []byte) (status int, answer string, err error) {
	// nothing can stop it from here on
	w := &withdrawal{by: c.p, merchant: c.merchant(), body: map[string]any{}, at: c.s.r.clock(),
		late: c.s.r.outside.removed}
	c.p.saw("the log is gone", w.late)
	if c.p.interrupted {
		c.s.r.violated("%s sends an order although it was interrupted before", c.p.name)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&w.body); err != nil {
		return 0, "", err
	}
	w.orderID, _ = w.body["external_order_id"].(string)
	what := "writes the create of order " + w.orderID
	choices := append([]choice{{what: "which is accepted"}}, c.s.may.creates...)
	ends := cmp.Or(c.s.may.loses, landsLate)
	if c.s.asked++; c.s.asked <= c.s.may.lost {
		choices = []choice{{what: ends.what}} // without a cost
	} else if c.s.asked == 2 && c.s.may.oneID {
		choices = []choice{wrongID}
	}
	took := c.p.pass(&point{what: what, choices: choices})
	if took.what == ends.what {
		took = ends
	}
	c.s.content = mix(c.s.content, took.what, w.orderID)
	switch took {
	case diesBefore:
		return 0, "", errGone
	case neverLeaves:
		return 0, "", neverLeft{errors.New("there is no route to the service")}
	}
	if c.p.dead && took != diesLate {
		return 0, "", errGone
	}
	c.s.r.left(w)
	switch took {
	case lostRequest:
		err = errors.New("the connection was reset")
	case landsLate, diesLate:
		c.s.late = append(c.s.late, w)
		err = errors.New("the connection was reset")
	case invents:
		c.s.made++
		id := fmt.Sprint("w", c.s.made)
		c.s.phantom[id] = c.p
		status, answer = 200, strconv.Quote(id)
	case isRejected:
		status, answer = 400, envelope
	case isLimited:
		status, answer = 429, envelope
	default:
		c.s.take(w)
		switch took {
		case lostAnswer:
			err = errors.New("the connection was reset")
		case timesOut:
			err = context.DeadlineExceeded
		case redirected:
			status = 307
		case cannotTell:
			status, answer = 500, envelope
		case wrongID:
			c.s.lied = true
			status, answer = 200, strconv.Quote(c.s.rows[1].id)
		default:
			status, answer = 200, strconv.Quote(w.id)
		}
	}
	at := &point{what: "gets the outcome of order " + w.orderID, silent: true}
	if at.choices = []choice{{}, dead}; c.p.pass(at).kind == dies {
		return 0, "", errGone
	}
	if status == 200 && took != wrongID && took != invents {
		c.p.told[w.orderID] = w.id
	}
	return status, answer, err
}

// take makes a payment.
func (s *service) take(w *withdrawal) {
	s.made++
	w.id = fmt.Sprint("w", s.made)
	s.rows = slices.Insert(s.rows, 0, w)
	s.content = mix(s.content, "takes", w.orderID, w.merchant)
	s.r.check()
}

func (s *service) land(i int) {
	w := s.late[i]
	s.late = slices.Delete(s.late, i, i+1)
	s.take(w)
}

func (w *withdrawal) address() string {
	address, _ := w.body["address"].(string)
	return address
}

func (w *withdrawal) amount() string { return asText(w.body["amount"]) }

// inBtc returns an amount as it is sent.
func inBtc(minor int64) string { return fmt.Sprintf(`{"Crypto":{"Btc":%d}}`, minor) }

func (w *withdrawal) json(listed bool) map[string]any {
	address := w.address()
	row := map[string]any{"id": w.id, "merchant_id": w.merchant, "currency": w.body["currency"],
		"amount": w.body["amount"], "address": address, "current": "New", "statuses": []any{},
		"is_testnet": true, "callback": "", "external_order_id": w.orderID,
		"external_id": json.Number(w.orderID)}
	if listed {
		row["address"] = map[string]any{"Crypto": map[string]any{"currency": "Btc", "address": address}}
	}
	return row
}

func asText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// reads lets a read happen, and whatever can go wrong with it.
func (c client) reads(what string, faults []choice) (choice, error) {
	took := c.p.pass(&point{what: what, silent: true, choices: append([]choice{{}}, faults...)})
	switch {
	case c.p.dead:
		return took, errGone
	case took == listFails:
		return took, errors.New("the connection was reset")
	}
	return took, nil
}

func (c client) get(id string) (status int, answer string, err error) {
	if _, err := c.reads("asks for withdrawal "+id, c.s.may.gets); err != nil {
		return 0, "", err
	}
	for _, w := range c.s.rows {
		if w.id == id && w.merchant == c.merchant() {
			return 200, asText(w.json(false)), nil
		}
	}
	c.s.denied[id] = true
	return 404, envelope, nil
}

// hasList is where a process has a page of the list and has not used it yet.
const hasList = "has a page of the list"

// list returns a page of the list. The first page has the number 1.
func (c client) list(page int) (status int, answer string, err error) {
	faults := c.s.may.lists
	again := c.s.may.steady && page > 1
	if c.s.may.shows && c.s.stale && !c.s.whole || again {
		faults = slices.DeleteFunc(slices.Clone(faults), func(f choice) bool { return f == isStale })
	}
	took, err := c.reads(fmt.Sprintf("asks for page %d of the list", page), faults)
	if err != nil {
		return 0, "", err
	}
	if !again {
		c.s.stale, c.s.whole = took == isStale, c.s.whole || took != isStale
	}
	c.s.content = mix(c.s.content, fmt.Sprint(c.s.stale, c.s.whole))
	if page == 1 {
		c.p.listed, c.p.listedAt = len(c.s.r.steps), c.s.r.clock()
	}
	rows := slices.DeleteFunc(slices.Clone(c.s.rows), func(w *withdrawal) bool {
		return w.merchant != c.merchant()
	})
	if c.s.stale && len(rows) > 0 {
		rows = rows[1:]
	}
	size := max(c.s.may.page, 1)
	if c.s.may.page == 0 {
		size = max(len(rows), 1)
	}
	shown := []any{}
	if c.p.found == nil {
		c.p.found = map[string]int{}
	}
	for _, w := range rows[min((page-1)*size, len(rows)):min(page*size, len(rows))] {
		c.p.found[w.orderID] = len(c.s.r.steps)
		shown = append(shown, w.json(true))
	}
	answer = asText(map[string]any{"page_content": shown, "page_count": (len(rows) + size - 1) / size,
		"total": len(rows)})
	c.p.pass(&point{what: hasList, silent: true}) // what it shows may be different by now
	return 200, answer, nil
}

// other makes a payment for somebody else, which is on the list too.
func (s *service) other(orderID string) { s.pay(orderID, 1, firstKey) }

// pay makes a payment for a program with another journal.
func (s *service) pay(orderID string, minor int64, key string) {
	w := &withdrawal{orderID: orderID, merchant: merchant(key), at: s.r.clock()}
	if err := json.Unmarshal([]byte(asText(withdraw(orderID, minor))), &w.body); err != nil {
		panic(err)
	}
	s.take(w)
}

// toFront moves the oldest row to the front of the list.
func (s *service) toFront() {
	last := len(s.rows) - 1
	s.rows = slices.Insert(s.rows[:last:last], 0, s.rows[last])
	s.content = mix(s.content, "moves")
}
