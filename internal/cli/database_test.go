package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/journal/pgtest"
	"example.com/till/pkg/api/sandbox"
)

// breaks is SQL for a trigger that breaks connections. A sequence keeps its number although the transaction is
// undone, so the session that writes is ended twice at most.
const breaks = `
CREATE SEQUENCE ended;
CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF TG_ARGV[1] = 'last' AND EXISTS (SELECT 1 FROM orders WHERE state <> 'accepted') THEN RETURN NULL; END IF;
	IF TG_ARGV[1] = 'last' AND NOT EXISTS (SELECT 1 FROM orders) THEN RETURN NULL; END IF;
	IF TG_ARGV[0] = 'writer' THEN
		IF nextval('ended') <= 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60); END IF;
		RETURN NULL;
	END IF;
	IF TG_ARGV[0] = 'for good' THEN ALTER ROLE guarded NOLOGIN; END IF;
	PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid();
	WHILE EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()) LOOP
		PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
	END LOOP;
	RETURN NULL;
END $$;
CREATE TRIGGER breaks AFTER `

// TestConnectionBreaks checks that a run in PostgreSQL ends with 0 only if every outcome is recorded, and that
// what it says about a broken connection does not sound otherwise.
func TestConnectionBreaks(t *testing.T) {
	server := pgtest.Shared(t)
	const (
		outcome = `UPDATE ON orders FOR EACH ROW WHEN (NEW.state = 'accepted') EXECUTE FUNCTION break`
		end     = `DELETE ON appliers FOR EACH ROW EXECUTE FUNCTION break`
	)
	for name, test := range map[string]struct {
		rows    int
		trigger string
		code    int
		says    string
	}{
		"when an outcome is recorded":    {3, outcome + `('writer', '')`, 0, "results in"},
		"those that read, at the first":  {3, outcome + `('readers', '')`, 50, "1 of 3 orders is accepted"},
		"those that read, at the last":   {1, outcome + `('readers', 'last')`, 0, "recorded as accepted"},
		"after the last outcome":         {3, end + `('writer', 'last')`, 0, "results in"},
		"those that read, after the end": {3, end + `('readers', 'last')`, 0, "results in"},
		"for good, at the last":          {3, outcome + `('for good', 'last')`, 20, "the state of the run cannot be read"},
		"for good, after the end":        {3, end + `('for good', 'last')`, 20, "the state of the run cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			server.Guarded(t, "word")
			place := server.Database(t)
			till, plan := tillWith(t, strings.Replace(place, "till@", "guarded:word@", 1), test.rows)
			server.Exec(t, place, breaks+test.trigger)
			code, out, said := till("payout", "apply", plan, "--yes", "-o", "jsonl")
			if code != test.code || !strings.Contains(said, test.says) {
				t.Errorf("it ended with %d and said\n%s", code, said)
			}
			if all := strings.Contains(out, fmt.Sprintf(`"accepted":%d`, test.rows)); all != (code == 0) {
				t.Errorf("it ended with %d and printed %s", code, out)
			}
		})
	}
}

// tillWith returns a function that runs till with a sandbox and a journal, and a plan.
func tillWith(t *testing.T, journal string, rows int) (till func(words ...string) (int, string, string), plan string) {
	box, err := sandbox.New()
	if err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(box)
	t.Cleanup(service.Close)
	dir := t.TempDir()
	env := []string{"HOME=" + dir, "TILL_BASE_URL=" + service.URL, "TILL_API_KEY=" + box.Key(),
		"TILL_PROFILE=sandbox", "TILL_JOURNAL=" + journal}
	till = func(words ...string) (int, string, string) {
		var out, errors bytes.Buffer
		code := Run(context.Background(), append([]string{"till"}, words...), cmdutil.IO{
			In: strings.NewReader(""), Out: &out, Err: &errors, Now: time.Now,
			Environ: func() []string { return env },
		})
		return code, out.String(), errors.String()
	}
	file, plan := filepath.Join(dir, "pay.csv"), filepath.Join(dir, "pay.plan")
	text := "order_id,currency,amount,address\n"
	for i := range rows {
		text += fmt.Sprintf("%d,Btc,0.5,bc1qa\n", i+1)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := till("payout", "plan", file, "--out", plan); code != 0 {
		t.Fatalf("%d: %s", code, said)
	}
	return till, plan
}
