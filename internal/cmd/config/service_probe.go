package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/pkg/api"
)

// A finding says what the service does in one place where the interface is silent.
type finding struct {
	// Choice is the name of the sandbox's setting, where there is one. Setting is one of the profile: KEY=VALUE.
	Choice  string `json:"choice" column:"own: what the interface does not show"`
	Found   string `json:"found" column:"text: what the service does; empty if it cannot be told"`
	Why     string `json:"why" column:"text whole: what shows it"`
	Setting string `json:"setting,omitempty" schema:"optional" column:"own extra: setting to write into the profile"`
}

// A probe reads a service, and collects what its answers show.
type probe struct {
	s      *cmdutil.Session
	client *api.Client
	first  int // the number of the first page
	size   int // of the pages that are asked for
	total  int64
	rows   []api.Withdrawal // from the beginning of the list
	layout string           // of the times in rows; empty: none that till can read
	found  []finding
	err    error // of a call that failed: the check ends, and what it has found means nothing
}

// sample is how many withdrawals are read, and the largest page that is asked for.
const sample = 1000

func (p *probe) tell(choice, found, why string, args ...any) {
	p.found = append(p.found, finding{Choice: choice, Found: found, Why: fmt.Sprintf(why, args...)})
}

// set adds a setting to the last finding, if the profile has another value.
func (p *probe) set(key, value, now string) {
	if value != now {
		p.found[len(p.found)-1].Setting = key + "=" + value
	}
}

// rejected tells that a request was refused, if it was.
func (p *probe) rejected(choice string, refused *api.Error) bool {
	if refused != nil {
		p.tell(choice, "reject", "HTTP %d", refused.Status)
	}
	return refused != nil
}

// refusal returns the answer that refused a request because of what was asked. It keeps other errors in p.err.
func (p *probe) refusal(err error) *api.Error {
	call, is := errors.AsType[*api.Error](err)
	if is && call.Outcome == api.Rejected && !call.RateLimited() && !slices.Contains([]int{401, 403, 408}, call.Status) {
		return call
	}
	p.err = err
	return nil
}

// list asks for a page of the list, unless a call has failed.
func (p *probe) list(filter api.WithdrawalFilter, page, size int) (got api.WithdrawalPage, refused *api.Error) {
	if p.err == nil {
		var err error
		got, err = p.client.Withdrawals.ListLenient(p.s.Ctx, filter, page, size)
		refused = p.refusal(err)
	}
	return got, refused
}

func rowsOf(page api.WithdrawalPage) int { return len(page.Items) + len(page.Unreadable) }

func (p *probe) firstPage() {
	zero, refusedZero := p.list(api.WithdrawalFilter{}, 0, 1)
	one, refusedOne := p.list(api.WithdrawalFilter{}, 1, 1)
	if refusedZero != nil && refusedOne != nil {
		p.err = refusedOne
	}
	p.first, p.total = 1, max(zero.Total, one.Total)
	same := rowsOf(zero) > 0 && rowsOf(one) > 0 && len(zero.Items) == len(one.Items) &&
		(len(zero.Items) == 0 || zero.Items[0].ID == one.Items[0].ID)
	switch {
	case rowsOf(zero)+rowsOf(one) == 0:
		p.tell("first_page", "", "the list is empty")
		return
	case rowsOf(zero) == 0:
		p.tell("first_page", "1", "page 0 has nothing, and page 1 the first withdrawal")
	case same && p.total < 2:
		p.tell("first_page", "", "pages 0 and 1 show the only withdrawal")
		return
	case same:
		p.tell("first_page", "1", "page 0 shows the same as page 1")
	default:
		p.first = 0
		p.tell("first_page", "0", "page 0 has the first withdrawal, and page 1 has not")
	}
	p.set("first_page", strconv.Itoa(p.first), p.s.FirstPage)
}

// pageSizes finds the largest page by bisection, and the size of a page that nobody asked for.
func (p *probe) pageSizes() {
	got, tooLarge := p.list(api.WithdrawalFilter{}, p.first, sample+1)
	rows := rowsOf(got)
	switch {
	case tooLarge != nil:
		largest := sort.Search(sample, func(n int) bool {
			_, refused := p.list(api.WithdrawalFilter{}, p.first, n+1)
			return refused != nil || p.err != nil
		})
		p.size = min(p.size, largest)
		p.tell("max_page_size", strconv.Itoa(largest), "a page of %d is refused", largest+1)
		p.rejected("page_size_too_large", tooLarge)
	case int64(rows) < min(got.Total, sample+1):
		p.size = min(p.size, rows)
		p.tell("max_page_size", strconv.Itoa(rows), "of %d, the service shows %d", sample+1, rows)
		p.tell("page_size_too_large", "clamp", "it shows as many as it can")
	default:
		p.tell("max_page_size", "", "a page of %d is answered with %d of %d withdrawals", sample+1, rows, got.Total)
	}
	shown, total, refused := p.raw("/api/merchant_withdrawal/list?page="+strconv.Itoa(p.first), noFilter)
	switch {
	case refused != nil:
		p.tell("default_page_size", "", "a request without page_size is refused with HTTP %d", refused.Status)
	case int64(shown) < total:
		p.tell("default_page_size", strconv.Itoa(shown), "a request without page_size")
	default:
		p.tell("default_page_size", "", "a request without page_size is answered with all withdrawals")
	}
}

const noFilter = `{"currencies":[],"tags":[]}`

// raw makes a list request that the methods of the client do not make, unless a call has failed. It counts the
// records, which need not be readable.
func (p *probe) raw(path, body string) (rows int, total int64, refused *api.Error) {
	var page struct {
		Content []json.RawMessage `json:"page_content"`
		Total   int64             `json:"total"`
	}
	var answer json.RawMessage
	err := p.err
	if err == nil {
		answer, err = p.client.Do(p.s.Ctx, "POST", path, json.RawMessage(body))
	}
	if err == nil {
		if err = json.Unmarshal(answer, &page); err != nil {
			err = exit.Failure(exit.ReadFailed, err, "the answer to POST "+path+" is no list: "+err.Error(),
				"look at it", "api", "POST", path, "--input", "FILE")
		}
	}
	return len(page.Content), page.Total, p.refusal(err)
}

func (p *probe) read() {
	var unreadable []api.UnreadableWithdrawal
	for page := p.first; len(p.rows)+len(unreadable) < sample; page++ {
		got, refused := p.list(api.WithdrawalFilter{}, page, p.size)
		if refused != nil || rowsOf(got) == 0 {
			break
		}
		p.rows, unreadable = append(p.rows, got.Items...), append(unreadable, got.Unreadable...)
		if int64(len(p.rows)+len(unreadable)) >= got.Total {
			break
		}
	}
	if len(unreadable) > 0 {
		p.tell("records", "unreadable", "%d of %d: %v", len(unreadable), len(p.rows)+len(unreadable), unreadable[0].Err)
	}
}

func (p *probe) pagesBeyond() {
	got, refused := p.list(api.WithdrawalFilter{}, p.first+int(min(p.total, 1<<30))+1000, 1)
	switch {
	case p.rejected("page_out_of_range", refused):
	case rowsOf(got) > 0:
		p.tell("page_out_of_range", "clamp", "a page behind the last one shows withdrawals")
	case p.total > 0:
		p.tell("page_out_of_range", "empty", "a page behind the last one shows none")
	}
}

// layouts returns the formats of times that are tried, the commonest first. A date that begins with the day
// also has its counterpart that begins with the month, so that neither is taken for the other.
func layouts() []string {
	dates := []string{"2006-01-02", "2006/01/02", "2006.01.02", "20060102", "02.01.2006", "02/01/2006", "01/02/2006",
		"02-01-2006", "01-02-2006", "2/1/2006", "1/2/2006", "2.1.2006", "02 Jan 2006", "2 Jan 2006", "02-Jan-2006",
		"Jan 2, 2006", "Mon, 02 Jan 2006", "Mon, 2 Jan 2006"}
	fractions := []string{"", ".999999999"} // the last is without the zeros at the end
	for n := range 9 {
		fractions = slices.Insert(fractions, n+1, "."+strings.Repeat("0", n+1))
	}
	clocks := append(each([]string{"15:04:05", "150405"}, fractions), "3:04:05 PM", "03:04:05 PM")
	zones := []string{"", "Z07:00", "Z0700", "-07:00", "-0700", " MST", " Z07:00", " -07:00", " -0700", " -0700 MST"}
	return append(each(each(each(dates, []string{"T", " ", "", ", "}), clocks), zones),
		time.ANSIC, time.UnixDate, time.RubyDate)
}

func each(beginnings, ends []string) (all []string) {
	for _, beginning := range beginnings {
		for _, end := range ends {
			all = append(all, beginning+end)
		}
	}
	return all
}

// writing returns the layouts that write each of some times as it was seen, first that of the profile. Of
// those that differ only in what they tolerate, it returns the first.
func (p *probe) writing(texts []string) (found []string) {
	day := time.Date(2001, time.February, 3, 4, 5, 6, 0, time.UTC)
	for _, layout := range append([]string{p.s.TimeLayout}, layouts()...) {
		differs := func(text string) bool {
			at, err := time.ParseInLocation(layout, text, time.UTC)
			return err != nil || at.Format(layout) != text
		}
		alike := func(other string) bool { // one reads what the other writes, and as the same time
			a, err := time.Parse(layout, day.Format(other))
			b, err2 := time.Parse(other, day.Format(layout))
			return err == nil && a.Equal(day) || err2 == nil && b.Equal(day)
		}
		if !slices.ContainsFunc(texts, differs) && !slices.ContainsFunc(found, alike) {
			found = append(found, layout)
		}
	}
	return found
}

func (p *probe) created(w api.Withdrawal) (first time.Time) {
	for _, status := range w.Statuses {
		if at, _ := time.ParseInLocation(p.layout, status.At, time.UTC); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

func (p *probe) times() {
	var texts []string
	for _, w := range p.rows {
		for _, status := range w.Statuses {
			texts = append(texts, status.At)
		}
	}
	if len(texts) == 0 {
		p.tell("time_layout", "", "no withdrawal with a time was read")
		return
	}
	switch written := p.writing(texts); len(written) {
	case 0:
		p.tell("time_layout", "", "times look like %s, which is none of the common formats", texts[0])
		return
	case 1:
		p.layout = written[0]
	default:
		p.tell("time_layout", "", "times look like %s, which is ambiguous: each can be written as %s; "+
			"compare one with the panel, and set time_layout", texts[0], strings.Join(written, " or as "))
		return
	}
	p.tell("time_layout", p.layout, "times look like %s", texts[0])
	p.set("time_layout", p.layout, p.s.TimeLayout)
	first, last := p.created(p.rows[0]), p.created(p.rows[len(p.rows)-1])
	if order := map[int]string{1: "newest", -1: "oldest"}[first.Compare(last)]; order != "" {
		p.tell("list_order", order, "the first is of %s, and the last read of %s", first.Format(time.DateTime),
			last.Format(time.DateTime))
	} else {
		p.tell("list_order", "", "no two withdrawals differ in time")
	}
}

func (p *probe) histories() {
	counts := map[string]int{}
	order := ""
	for _, w := range p.rows {
		counts[w.Current]++
		n := len(w.Statuses)
		if n < 2 || w.Statuses[0].Status == w.Statuses[n-1].Status {
			continue
		}
		switch w.Current {
		case w.Statuses[n-1].Status:
			order = "oldest"
		case w.Statuses[0].Status:
			order = "newest"
		}
	}
	p.tell("history_order", order, "which entry of statuses comes first")
	var seen []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		seen = append(seen, fmt.Sprintf("%s %d", name, counts[name]))
	}
	p.tell("statuses", strings.Join(seen, ", "), "current statuses of %s", cmdutil.CountOf(len(p.rows), "withdrawal"))
}
