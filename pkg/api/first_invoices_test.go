package api

import "testing"

func TestHasRecords(t *testing.T) {
	for answer, want := range map[string]bool{
		`[]`: false, `[1]`: true, `[{"id":"a"}]`: true, `{}`: false, `null`: false, `"x"`: false,
		`{"total":0}`: false, `{"rows":[]}`: false, `{"rows":[],"paging":{"total":0}}`: false,
		`{"paging":{"total":1},"rows":[null]}`: true, `{"page":{"rows":[{"id":"a"}]}}`: true,
		`{"page":{"rows":[]}}`: false, `{"7c9e6679":{"id":"7c9e6679"}}`: true, `{"7c9e6679":{}}`: false,
		`{"page_content":[],"page_count":3}`: false, ` {"a" : { } , "b" : [ { } ] } `: true,
		`{"rows":[],"old":[],"new":[{"id":1}]}`: true,
	} {
		if got := !hasNoRecords([]byte(answer)); got != want {
			t.Errorf("%s: %t", answer, got)
		}
	}
}
