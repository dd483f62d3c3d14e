package sandbox_test

import (
	"strings"
	"testing"
)

func TestInvites(t *testing.T) {
	b := newBox(t)
	same(t, b.get("/api/invites"), `[]`)
	id := "6f1c2a34-9d0e-4b7a-8c55-0123456789ab"
	same(t, b.post("/api/invite", `"`+strings.ToUpper(id)+`"`),
		`{"invite":"`+id+`","label":"Invite 1","url":"http://sandbox.localhost/invite/`+id+`"}`)
	same(t, b.get("/api/invite?id="+id), `{"invite":"`+id+`","label":"Invite 1"}`)
	same(t, b.get("/api/invites"), `[{"invite":"`+id+`","label":"Invite 1"}]`)
	b.refused(b.send("POST", "/api/invite", `"`+id+`"`), 422, "invite_exists", id)
	b.refused(b.send("GET", "/api/invite?id="+uuid("x"), ""), 404, "not_found")
	for _, body := range []string{``, `null`, `{}`, `""`, `"x"`, `5`, `["` + id + `"]`, `"` + id + `" "x"`, `"{` +
		id + `}"`, `"` + strings.ReplaceAll(id, "-", "") + `"`} {
		b.refused(b.send("POST", "/api/invite", body), 400, "invalid_body")
	}
	same(t, b.get("/api/invites"), `[{"invite":"`+id+`","label":"Invite 1"}]`)
}

func TestInviteReference(t *testing.T) {
	b := newBox(t, set("invite_uuid", "reference"), set("invite_url", "https://join.example/{invite}"))
	sent := uuid("sent")
	first := b.post("/api/invite", `"`+sent+`"`)
	id := at(t, first, "invite").(string)
	failIf(t, id == sent, "the invite took the UUID that was sent")
	same(t, first, `{"invite":"`+id+`","label":"`+sent+`","url":"https://join.example/`+id+`"}`)
	b.post("/api/invite", `"`+sent+`"`) // a reference may come twice
}

// TestRedeem checks what the script sandbox_invite_redeem does not show.
func TestRedeem(t *testing.T) {
	b := newBox(t, set("invite_reuse", "accept"))
	invite := uuid("one")
	b.post("/api/invite", `"`+invite+`"`)
	first, key, err1 := b.RedeemInvite(strings.ToUpper(invite), "")
	second, _, err2 := b.RedeemInvite(invite, "")
	failIf(t, err1 != nil || err2 != nil || first == second, "redeemed twice: %s %s %v %v", first, second, err1, err2)
	failIf(t, !strings.HasPrefix(key, "till_sandbox_") || key == b.Key(), "the reseller's key is %q", key)
	same(t, at(t, b.get("/api/reseller/info?id="+first), "invite_info", "label"), `"Invite 1"`)
}
