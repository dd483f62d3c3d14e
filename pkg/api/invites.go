package api

import "context"

// Invites has the calls about invitations to become a reseller. The interface does not show whether they need
// the key: they send it unless WithoutResellerAuth is set.
type Invites struct{ client *Client }

// Invite invites a person to become a reseller.
type Invite struct {
	Invite string `json:"invite"` // UUID
	Label  string `json:"label"`
	URL    string `json:"url" schema:"optional"` // only in the answer of Create: no other call shows it again

	source `json:"-"`
}

// MarshalJSON writes the text of RawJSON, or the fields if there is none or they were changed.
func (i Invite) MarshalJSON() ([]byte, error) { return marshal(i, i.raw, inviteFields(i)) }

// UnmarshalJSON reads what Get reads, and keeps the text for RawJSON.
func (i *Invite) UnmarshalJSON(b []byte) error { return unmarshal(b, i) }

type inviteFields Invite // without the methods

func (i *Invite) members() []member {
	return []member{{"invite", &i.Invite, false}, {"label", &i.Label, false}, {"url", &i.URL, false}}
}

func (i *Invite) read(r *reader) error {
	if err := r.record(&i.source, i.members()...); err != nil {
		return err
	}
	return CheckUUID(i.Invite)
}

// createdInvite is an Invite that must have all its fields: an incomplete one does not prove that an invite
// was created.
type createdInvite struct{ Invite }

func (i *createdInvite) read(r *reader) error {
	err := r.record(&i.source, member{"invite", &i.Invite.Invite, true}, member{"label", (*plainText)(&i.Label), true},
		member{"url", &i.URL, true})
	if err == nil {
		err = CheckUUID(i.Invite.Invite)
	}
	return err
}

// invites is an array of invites.
type invites []Invite

func (v *invites) read(r *reader) error { return elements(r, maxItems, (*[]Invite)(v)) }

// List returns all invites.
//
// GET /api/invites (section 4.3)
func (s *Invites) List(ctx context.Context) ([]Invite, error) {
	return call[invites](ctx, s.client, get("list invites", "/api/invites").ofReseller())
}

// Get returns one invite.
//
// GET /api/invite (section 4.3)
func (s *Invites) Get(ctx context.Context, id string) (Invite, error) {
	return call[Invite](ctx, s.client, get("get invite", "/api/invite", uuidParam("id", id)).ofReseller())
}

// Create makes an invite from a UUID and returns it with its url. The interface does not show what the UUID
// means. It is sent at most once.
//
// POST /api/invite (section 4.3)
func (s *Invites) Create(ctx context.Context, uuid string) (Invite, error) {
	created, err := call[createdInvite](ctx, s.client,
		create("create the invite", "/api/invite", uuid, checkUUIDField("uuid", uuid)).ofReseller())
	return created.Invite, err
}
