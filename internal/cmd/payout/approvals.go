package payout

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/payout"
)

// approverLine is a person who may approve a plan.
type approverLine struct {
	Principal   string `json:"principal"`
	Approved    bool   `json:"approved"`
	Fingerprint string `json:"fingerprint"` // of the key that signed; empty: none did
	File        string `json:"file"`        // the signature
}

func approverView(money.Registry) render.View[approverLine] {
	type row = approverLine
	return render.View[row]{
		ID:   func(r row) string { return r.Principal },
		JSON: render.Value[row](),
		Columns: []render.Column[row]{
			{Name: "principal", About: "who may approve the plan",
				Cell: func(r row) render.Cell { return render.Own(r.Principal) }},
			{Name: "approved", About: "whether there is a valid signature",
				Cell: func(r row) render.Cell { return render.Bool(r.Approved) }},
			{Name: "fingerprint", About: "fingerprint of the key that signed",
				Cell: func(r row) render.Cell { return render.Own(r.Fingerprint) }},
			{Name: "file", About: "file of the signature", Cell: func(r row) render.Cell { return render.Own(r.File) }},
		},
	}
}

// showApprovals shows who has signed a plan in the files next to it, and who may.
func showApprovals(s *cmdutil.Session, p *payout.Plan, out cmdutil.Output[approverLine]) error {
	approvals, err := s.PayoutApprovals(true)
	if err != nil {
		return err
	}
	if approvals.Approvers.Path == "" {
		return &config.Error{Msg: "no profile in use says who may approve a plan",
			Advice: "type: till profile set " + s.ProfileOr("NAME") + " approvals=2 approvers=/etc/till/allowed_signers"}
	}
	status, err := p.Approvals(approvals, nil, s.IO.Now())
	if err != nil {
		return err
	}
	for _, text := range status.Notes() {
		s.Note("%s", text)
	}
	s.Note("%s", status)
	var rows []approverLine
	for _, a := range status.Approved {
		rows = append(rows, approverLine{a.Principal, true, a.Fingerprint, a.File})
	}
	for _, name := range status.Missing {
		rows = append(rows, approverLine{Principal: name})
	}
	return out.Slice(rows)
}
