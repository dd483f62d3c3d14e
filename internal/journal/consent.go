package journal

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"example.com/till/pkg/payout/approval"
)

// approve records the approvals of a run that are new, and returns the number of the consent that they make;
// 0 if no approval was needed.
func (t *tx) approve(run int64, r Run) (consent int64, err error) {
	var ids []int64
	for _, a := range r.Approvals {
		if _, err := t.exec(`INSERT INTO approvals (run_id, principal, public_key, fingerprint, signature, seen, user_name, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (run_id, fingerprint) DO NOTHING`, run, a.Principal, a.Key, a.Fingerprint, a.Signature, t.now,
			t.j.options.User, t.j.options.Host); err != nil {
			return 0, err
		}
		id, err := one[int64](t, `SELECT id FROM approvals WHERE run_id = ?1 AND fingerprint = ?2`, run, a.Fingerprint)
		if err != nil {
			return 0, err
		}
		ids = append(ids, id)
	}
	if r.Required == 0 {
		return 0, nil
	}
	slices.Sort(ids)
	return t.consent(run, r.Required, ids)
}

// consent returns the number of the run's last consent if that is the same, and otherwise of a new one. The
// numbers of the approvals are sorted.
func (t *tx) consent(run, required int64, approvals []int64) (number int64, err error) {
	var was int64
	err = t.row(`SELECT id, required FROM consents WHERE run_id = ?1 ORDER BY id DESC LIMIT 1`, run).Scan(&number, &was)
	if err == nil {
		var counted []int64
		counted, err = collect(each(t, scanOne[int64],
			`SELECT approval FROM consent_approvals WHERE consent = ?1 ORDER BY approval`, number))
		if err != nil || was == required && slices.Equal(counted, approvals) {
			return number, err
		}
	} else if !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	number, err = one[int64](t, `INSERT INTO consents (run_id, required) VALUES (?1, ?2) RETURNING id`, run, required)
	for _, id := range approvals {
		if err == nil {
			_, err = t.exec(`INSERT INTO consent_approvals (consent, approval) VALUES (?1, ?2)`, number, id)
		}
	}
	return number, err
}

const approvalColumns = `principal, public_key, fingerprint, signature, seen, approvals.user_name, approvals.host`

// scanApproval reads a row of approvalColumns and more columns.
func scanApproval(rows *sql.Rows, more ...any) (a approval.Approval, err error) {
	err = rows.Scan(append([]any{&a.Principal, &a.Key, &a.Fingerprint, &a.Signature, stamped(&a.Seen), &a.User, &a.Host}, more...)...)
	return a, err
}

// Consents returns the consents of all runs of the account, the oldest first.
func (l *Ledger) Consents(ctx context.Context) (all []approval.Consent, err error) {
	scan := func(rows *sql.Rows) (c approval.Consent, err error) {
		a, err := scanApproval(rows, &c.Number, &c.Required, &c.Run, &c.Digest)
		c.Approvals = []approval.Approval{a}
		return c, err
	}
	for c, err := range eachOf(ctx, l, scan, `SELECT `+approvalColumns+`, consents.id, required, runs.name, digest FROM consents JOIN runs ON runs.id = consents.run_id
		JOIN consent_approvals ON consent = consents.id JOIN approvals ON approvals.id = approval WHERE account = ?1 ORDER BY consents.id, approvals.id`) {
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && all[n-1].Number == c.Number {
			all[n-1].Approvals = append(all[n-1].Approvals, c.Approvals...)
		} else {
			all = append(all, c)
		}
	}
	return all, nil
}

// Approvals returns the approvals of a run, in the order in which they were recorded.
func (l *Ledger) Approvals(ctx context.Context, run string) ([]approval.Approval, error) {
	if run == "" {
		return nil, nil
	}
	return collect(eachOf(ctx, l, func(rows *sql.Rows) (approval.Approval, error) { return scanApproval(rows) },
		`SELECT `+approvalColumns+` FROM approvals JOIN runs ON runs.id = run_id
		WHERE account = ?1 AND name = ?2 ORDER BY approvals.id`, run))
}
