package journal

import "context"

// reap moves an order whose sender has died while it was sending to unknown.
func (t *tx) reap(o *Order) error {
	if o.State != Sending {
		return nil
	}
	alive, err := t.j.alive(t.ctx, t, o.sender)
	if err != nil || alive {
		return err
	}
	next := *o
	next.State, next.Reason = Unknown, "the process that was sending it died"
	next.lastDoubt = next.attempt
	if next.doubt == 0 {
		next.doubt = next.attempt
	}
	*o, err = t.move(*o, next, Event{What: eventDied, Reason: next.Reason})
	return err
}

// living finds the account and an order, which has become unknown where its sender has died; its state is empty where there is none.
func (t *tx) living(a Account, orderID string) (account int64, o Order, err error) {
	if account, err = t.account(a); err != nil {
		return 0, Order{}, err
	}
	if o, err = t.order(account, orderID); err == nil {
		err = t.reap(&o)
	}
	return account, o, err
}

// Reap moves every order of the account whose sender has died while it was sending to unknown, and returns how many.
func (j *Journal) Reap(ctx context.Context, a Account) (n int, err error) {
	waiting := 0
	if err := (reading{j, ctx}).row(`SELECT count(*) FROM orders WHERE account = (SELECT id FROM accounts WHERE address = ?1 AND name = ?2) AND state IN ('unknown', 'sending') AND state = 'sending'`,
		a.Address, a.Name).Scan(&waiting); err != nil || waiting == 0 {
		return 0, j.failed(err)
	}
	err = j.write(ctx, func(t *tx) error {
		n = 0
		account, err := t.knownAccount(a)
		if err != nil || account == 0 {
			return err
		}
		sending, err := t.orders(`account = ?1 AND state IN ('unknown', 'sending') AND state = 'sending' ORDER BY id`, account)
		if err != nil {
			return err
		}
		for _, o := range sending {
			if err := t.reap(&o); err != nil {
				return err
			}
			if o.State == Unknown {
				n++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
