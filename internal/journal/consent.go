package journal

import (
	"context"
	"slices"

	"example.com/till/pkg/payout/approval"
)

// approve records the approvals of a run that are new, and returns the number of the consent that they make;
// 0 if no approval was needed.
func (t *tx) approve(run int64, r Run) (consent int64) {
	var ids []int64
	for _, a := range r.Approvals {
		t.exec(`INSERT INTO approvals (run_id, principal, public_key, fingerprint, signature, seen, user_name, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (run_id, fingerprint) DO NOTHING`, run, a.Principal, a.Key, a.Fingerprint, a.Signature, t.now,
			t.j.options.User, t.j.options.Host)
		ids = append(ids, one[int64](t, `SELECT id FROM approvals WHERE run_id = ?1 AND fingerprint = ?2`, run, a.Fingerprint))
	}
	if r.Required == 0 {
		return 0
	}
	slices.Sort(ids)
	return t.consent(run, r.Required, ids)
}

// consent returns the number of the run's last consent if that is the same, and otherwise of a new one. The
// numbers of the approvals are sorted.
func (t *tx) consent(run, required int64, approvals []int64) (number int64) {
	for last := range each(t, pair[int64], `SELECT id, required FROM consents WHERE run_id = ?1 ORDER BY id DESC LIMIT 1`, run) {
		if last[1] == required {
			number = last[0]
		}
	}
	if number != 0 && slices.Equal(approvals, all(t, only[int64], `SELECT approval FROM consent_approvals WHERE consent = ?1 ORDER BY approval`, number)) {
		return number
	}
	number = one[int64](t, `INSERT INTO consents (run_id, required) VALUES (?1, ?2) RETURNING id`, run, required)
	for _, id := range approvals {
		t.exec(`INSERT INTO consent_approvals (consent, approval) VALUES (?1, ?2)`, number, id)
	}
	return number
}

// Consents returns the consents of all runs of the account, the oldest first.
func (l *Ledger) Consents(ctx context.Context) (consents []approval.Consent, err error) {
	type row struct {
		approval.Consent
		approval approval.Approval
	}
	rows, err := allOf(ctx, l, func(r *row) []any {
		return append(approvalFields(&r.approval), &r.Number, &r.Required, &r.Run, &r.Digest)
	}, `SELECT `+approvalColumns+`, consents.id, required, runs.name, digest FROM consents JOIN runs ON runs.id = consents.run_id
		JOIN consent_approvals ON consent = consents.id JOIN approvals ON approvals.id = approval WHERE account = ?1 ORDER BY consents.id, approvals.id`)
	for _, r := range rows {
		if n := len(consents); n == 0 || consents[n-1].Number != r.Number {
			consents = append(consents, r.Consent)
		}
		last := &consents[len(consents)-1]
		last.Approvals = append(last.Approvals, r.approval)
	}
	return consents, err
}

const approvalColumns = `principal, public_key, fingerprint, signature, seen, approvals.user_name, approvals.host`

func approvalFields(a *approval.Approval) []any {
	return []any{&a.Principal, &a.Key, &a.Fingerprint, &a.Signature, stamped(&a.Seen), &a.User, &a.Host}
}

// Approvals returns the approvals of a run, in the order in which they were recorded.
func (l *Ledger) Approvals(ctx context.Context, run string) ([]approval.Approval, error) {
	return allOf(ctx, l, approvalFields, `SELECT `+approvalColumns+` FROM approvals JOIN runs ON runs.id = run_id
		WHERE account = ?1 AND name = ?2 ORDER BY approvals.id`, run)
}
