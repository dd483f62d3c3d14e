package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const goodRecord = `{"id":"w1","external_id":4711,"merchant_id":"m","currency":{"Crypto":"Btc"},` +
	`"amount":{"Crypto":{"Btc":5}},"statuses":[],"current":"New","address":"a","is_testnet":false,"callback":"",` +
	`"external_order_id":"4711"}`

// TestUnreadableWithdrawal checks that the readable fields of an unreadable record are kept, and that the
// others are named.
func TestUnreadableWithdrawal(t *testing.T) {
	all := []string{"address", "amount", "callback", "currency", "current", "external_id", "external_order_id", "id",
		"is_testnet", "memo", "merchant_id", "statuses"}
	with := func(changes ...string) string { // names and texts; a field with an empty text is left out
		var fields map[string]json.RawMessage
		check(t, json.Unmarshal([]byte(goodRecord), &fields))
		for i := 0; i < len(changes); i += 2 {
			if fields[changes[i]] = json.RawMessage(changes[i+1]); changes[i+1] == "" {
				delete(fields, changes[i])
			}
		}
		return string(must[[]byte](t)(json.Marshal(fields)))
	}
	for name, tt := range map[string]struct {
		record           string
		unread           []string
		id, orderID, why string
	}{
		"the amount is a float":     {with("amount", `{"Crypto":{"Btc":5e3}}`), []string{"amount"}, "w1", "4711", "5e3"},
		"no amount":                 {with("amount", ""), []string{"amount"}, "w1", "4711", "no amount"},
		"the order id is an object": {with("external_order_id", "{}"), []string{"external_order_id"}, "w1", "", "external_o"},
		"the number is a text":      {with("external_id", `"x"`), []string{"external_id"}, "w1", "4711", "external_id"},
		"no id":                     {with("id", ""), []string{"id"}, "", "4711", "no id"},
		"the id is a number":        {with("id", "7"), []string{"id"}, "", "4711", "id"},
		"two":                       {with("id", "7", "address", "[]"), []string{"address", "id"}, "", "4711", "address"},
		"a field that nobody needs": {with("is_testnet", `"no"`), []string{"is_testnet"}, "w1", "4711", "is_testnet"},
		"fiat address, crypto amount": {with("address", `{"Fiat":{"currency":"USD","address":"a"}}`), []string{"address"}, "w1",
			"4711", "Fiat"},
		"no field":    {"{}", []string{"address", "amount", "currency", "id"}, "", "", "no id"},
		"null":        {"null", all, "", "", ""},
		"a number":    {"7", all, "", "", ""},
		"half a pair": {with("note", `"Ann \ud83d"`), nil, "w1", "4711", "surrogate"},
		"half an id":  {with("memo", `"\udc00"`, "id", `"\ud83d"`), []string{"id", "memo"}, "", "4711", "surrogate"},
		"half a key":  {`{"n\ud83d":1,` + goodRecord[1:], nil, "w1", "4711", "surrogate"},
		"two amounts": {`{"amount":7,` + goodRecord[1:], []string{"amount"}, "w1", "4711", "amount"},
		"two orders":  {`{"external_order_id":"8",` + goodRecord[1:], []string{"external_id", "external_order_id"}, "w1", "", "dup"},
	} {
		t.Run(name, func(t *testing.T) {
			body := fmt.Sprintf(`{"page_content":[%s,%s,%s],"page_count":1,"total":3}`, goodRecord, tt.record, with("id", `"w2"`))
			client := must[*Client](t)(New("http://127.0.0.1", WithTransport(answering(200, " "+body+"\n"))))
			page, err := client.Withdrawals.ListLenient(context.Background(), WithdrawalFilter{}, 1, 100)
			if err != nil || len(page.Items) != 2 || page.Items[0].ID != "w1" || page.Items[1].ID != "w2" ||
				len(page.Unreadable) != 1 {
				t.Fatalf("%v, %+v", err, page)
			}
			if text, err := json.Marshal(page); err != nil || string(text) != body {
				t.Errorf("it is written as %s, %v", text, err)
			}
			u := page.Unreadable[0]
			if !slices.Equal(u.Unread, tt.unread) || u.ID != tt.id || u.ExternalOrderID != tt.orderID || u.Place != 1 ||
				string(u.RawJSON()) != tt.record {
				t.Errorf("got %+v", u)
			}
			if u.Err == nil || !strings.Contains(u.Err.Error(), tt.why) {
				t.Errorf("it is unreadable because: %v", u.Err)
			}
			for _, field := range all {
				if u.Readable(field) == slices.Contains(tt.unread, field) {
					t.Errorf("%s is readable: %t", field, u.Readable(field))
				}
			}
			if got, err := collect(client.Withdrawals.All(context.Background(), WithdrawalFilter{},
				ListOptions{FirstPage: PageBaseOne})); err == nil || len(got) > 0 {
				t.Errorf("strictly: %v, %v", got, err)
			}
			if _, err := client.Withdrawals.List(context.Background(), WithdrawalFilter{}, 1, 100); err == nil {
				t.Error("one page is read leniently")
			}
			client = must[*Client](t)(New("http://127.0.0.1", WithTransport(answering(200, tt.record))))
			u, err = client.Withdrawals.GetLenient(t.Context(), "w1")
			if ok := err == nil && u.Err != nil && slices.Equal(u.Unread, tt.unread); u.ID != tt.id || ok != (tt.id != "") {
				t.Errorf("alone: %+v, %v", u, err)
			}
		})
	}
}

func TestUnreadableText(t *testing.T) {
	var u UnreadableWithdrawal
	if text, err := u.MarshalJSON(); err == nil || u.UnmarshalJSON([]byte(`{"id":`)) == nil ||
		u.UnmarshalJSON([]byte("{\"id\":\"\xff\"}")) != nil || string(u.RawJSON()) != `{"id":"\ud800?"}` || u.ID != "" {
		t.Errorf("it is %q, %+v", text, u)
	}
}

// TestLenientRefusesBrokenPages checks that ListLenient does not accept a page that is wrong as a whole, or
// malformed JSON.
func TestLenientRefusesBrokenPages(t *testing.T) {
	for name, body := range map[string]string{
		"cut off":         `{"page_content":[` + goodRecord,
		"no total":        `{"page_content":[],"page_count":1}`,
		"content":         `{"page_content":{},"page_count":1,"total":0}`,
		"more after it":   `{"page_content":[],"page_count":1,"total":0} {}`,
		"a doubled key":   `{"page_content":[7],"page_count":1,"total":1,"total":1}`,
		"too many":        `{"page_content":[` + strings.Repeat("7,", maxRows) + `7],"page_count":1,"total":1}`,
		"total is a text": `{"page_content":[],"page_count":1,"total":"0"}`,
	} {
		client := must[*Client](t)(New("http://127.0.0.1", WithTransport(answering(200, body))))
		_, err := client.Withdrawals.ListLenient(context.Background(), WithdrawalFilter{}, 1, 100)
		if e := failure(t, err); e.Outcome != Failed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseCallback(t *testing.T) {
	body := []byte(" " + goodRecord + "\n")
	w, err := ParseCallback(body)
	if err != nil || w.ID != "w1" || w.ExternalOrderID != "4711" {
		t.Errorf("%+v, %v", w, err)
	}
	copy(body, strings.Repeat("#", len(body))) // the caller may reuse it
	if string(w.RawJSON()) != goodRecord {
		t.Errorf("its text is %s", w.RawJSON())
	}
	for _, body := range append(everyType["Withdrawal"].invalid(), "", "null", goodRecord+goodRecord) {
		if w, err := ParseCallback([]byte(body)); err == nil || w.ID != "" {
			t.Errorf("%s: %+v, %v", body, w, err)
		}
	}
	if _, err := ParseCallback([]byte(goodRecord + strings.Repeat(" ", MaxCallback))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
}
