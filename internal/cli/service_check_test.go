package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestServiceCheckFindsChoices sets each choice of the sandbox that reads can show. The first setting of each
// case is the one to be found, and the others are needed to see it.
//
// With day20, no withdrawal is of a day that could be a month.
func TestServiceCheckFindsChoices(t *testing.T) {
	t.Parallel()
	const day20 = "on the 20th"
	for _, settings := range [][]string{
		{"first_page=0"}, {"first_page=0", "page_out_of_range=clamp"}, {"first_page=1", "page_out_of_range=clamp"},
		{"first_page=1", "page_out_of_range=reject"}, {"default_page_size=2"}, {"max_page_size=3", "default_page_size=3"},
		{"page_size_too_large=clamp", "max_page_size=3", "default_page_size=3"},
		{"page_size_too_large=reject", "max_page_size=3", "default_page_size=3"}, {"page_out_of_range=empty"},
		{"page_out_of_range=reject"}, {"page_out_of_range=clamp"}, {"empty_page_count=1"}, {"list_order=oldest"},
		{"list_order=newest"}, {"tags_match=history"}, {"tags_match=current"}, {"period_end=exclusive"},
		{"period_end=inclusive"}, {"unknown_in_filter=no_match"}, {"unknown_in_filter=reject"},
		{"reversed_period=empty"}, {"reversed_period=reject"}, {"filter_times=layout"}, {"filter_times=either"},
		{"time_layout=2006-01-02 15:04:05"}, {"time_layout=20060102T150405"},
		{"time_layout=Mon, 02 Jan 2006 15:04:05 MST", "filter_times=layout"},
		{"time_layout=2006-01-02T15:04:05.000", "filter_times=layout"}, {"time_layout=2006-01-02T15:04:05.000000Z07:00"},
		{"time_layout=2006-01-02T15:04:05-0700"}, {"time_layout=2006-01-02T15:04:05-07:00"},
		{"time_layout=2006/01/02 15:04:05"},
		{"time_layout=02 Jan 2006 15:04:05"}, {"time_layout=02.01.2006 15:04:05"}, {"time_layout=Mon Jan _2 15:04:05 2006"},
		{"time_layout=01/02/2006 15:04:05", day20}, {"time_layout=02/01/2006 15:04:05", day20},
		{"time_layout=02-01-2006 15:04:05", day20}, {"time_layout=1/2/2006 3:04:05 PM", day20},
		{"history_order=newest"}, {"history_order=oldest"}, {"id_format=text"}, {"id_format=digits"},
		{"merchant_id_format=digits"}, {"fiat_address=fiat"}, {"is_testnet=false"}, {"absent_fields=null"},
		{"absent_fields=omit"}, {"code_case=any"}, {"code_case=exact"}, {"unknown_keys=ignore"},
		{"unknown_keys=reject"}, {"unknown_parameters=ignore"}, {"empty_text=absent"}, {"merchant_sees=all"},
		{"zero_amounts=omit"}, {"zero_amounts=show"}, {"invites_listed=all"}, {"invites_listed=open"},
		{"balance_record=kind"}, {"balance_record=list"},
		{"currency_balance=amounts"}, {"currency_balance=record"}, {"currency_balance=map"},
		{"invoice_list=page"}, {"invoice_list=array"}, {"invoice_list=array", "invoice_filter=required"},
	} {
		t.Run(strings.Join(settings, " "), func(t *testing.T) {
			t.Parallel()
			opts := []sandbox.Option{sandbox.WithSeed("demo")}
			for _, setting := range settings {
				name, value, _ := strings.Cut(setting, "=")
				if setting == day20 {
					opts = append(opts, sandbox.WithFrozenClock(time.Date(2026, 5, 20, 10, 0, 0, 0, time.UTC)))
					continue
				}
				opts = append(opts, sandbox.WithSetting(name, value))
			}
			name, value, _ := strings.Cut(settings[0], "=")
			if got := checkedService(t, sandbox.Start(t, opts...)); got[name] != value {
				t.Errorf("%s is found as %q: %v", name, got[name], got)
			}
		})
	}
}

// TestServiceCheckNamesSettings checks that a choice has the name of the setting of the sandbox, and that the
// docs say that it is looked at.
func TestServiceCheckNamesSettings(t *testing.T) {
	known := map[string]string{"statuses": "", "not_found": "", "order_ids": "", "resellers": ""}
	for _, s := range sandbox.Settings() {
		known[s.Name] = s.Default
	}
	docs := pageText(t, "docs/interface-gaps.md")
	for name := range checkedService(t, sandbox.Start(t, sandbox.WithSeed("demo"))) {
		if known[name] != "" && !strings.Contains(docs, "`"+name+"`†") {
			t.Errorf("docs/interface-gaps.md does not say that it looks at %s", name)
		}
		if _, there := known[name]; !there && !strings.HasPrefix(name, "decimals of ") {
			t.Errorf("%s is no setting of the sandbox", name)
		}
	}
}

// TestServiceCheckReadsOn checks that records that cannot be read as withdrawals are told, and end nothing.
func TestServiceCheckReadsOn(t *testing.T) {
	t.Parallel()
	box := sandbox.Start(t)
	_, err := box.AddFault(sandbox.Fault{Do: "respond", On: "POST /api/merchant_withdrawal/list",
		Body: json.RawMessage(`{"status": 200, "body": {"page_content": [{"id": "x"}], "page_count": 1, "total": 2}}`)})
	must(t, err)
	if got := checkedService(t, box); got["records"] != "unreadable" || got["default_page_size"] != "1" {
		t.Errorf("%v", got)
	}
}

// checkedService returns what till service check finds, by choice.
func checkedService(t *testing.T, box *sandbox.Running) map[string]string {
	t.Helper()
	f := till(t, []string{"TILL_PROFILE=sandbox", "TILL_BASE_URL=" + box.URL, "TILL_API_KEY=" + box.Key()},
		"service", "check", "-o", "json")
	var found []struct{ Choice, Found string }
	if err := json.Unmarshal([]byte(f.out), &found); f.code != 0 || err != nil {
		t.Fatalf("%v: %+v", err, f)
	}
	by := map[string]string{}
	for _, f := range found {
		by[f.Choice] = f.Found
	}
	return by
}
