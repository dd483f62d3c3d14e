package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.com/till/e2e/pgtest"
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
			env, plan := planWith(t, strings.Replace(place, "till@", "guarded:word@", 1), test.rows)
			server.Exec(t, place, breaks+test.trigger)
			f := till(t, env, "payout", "apply", plan, "--yes", "-o", "jsonl")
			if f.code != test.code || !strings.Contains(f.err, test.says) {
				t.Errorf("it ended with %d and said\n%s", f.code, f.err)
			}
			if all := strings.Contains(f.out, fmt.Sprintf(`"accepted":%d`, test.rows)); all != (f.code == 0) {
				t.Errorf("it ended with %d and printed %s", f.code, f.out)
			}
		})
	}
}

// planWith returns an environment with a sandbox and a journal, and a plan.
func planWith(t *testing.T, journal string, rows int) (env []string, plan string) {
	t.Helper()
	box, dir := sandbox.Start(t), t.TempDir()
	env = []string{"HOME=" + dir, "TILL_BASE_URL=" + box.URL, "TILL_API_KEY=" + box.Key(), "TILL_PROFILE=sandbox",
		"TILL_JOURNAL=" + journal}
	text, plan := "order_id,currency,amount,address\n", filepath.Join(dir, "pay.plan")
	for i := range rows {
		text += fmt.Sprintf("%d,Btc,0.5,bc1qa\n", i+1)
	}
	file := writeFile(t, filepath.Join(dir, "pay.csv"), text)
	if f := till(t, env, "payout", "plan", file, "--out", plan); f.code != 0 {
		t.Fatalf("%+v", f)
	}
	return env, plan
}
