package explore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/till/e2e/pgtest"
)

// place returns where the journal is.
func (e *explorer) place() string {
	if e.base != nil {
		return e.base.address
	}
	return filepath.Join(e.dir, "journal.db")
}

// A folder keeps the files with which every run begins: the plan, the signatures next to it, and a journal in
// SQLite. If there is one, it is in a directory in memory.
type folder struct {
	dir  string
	kept map[string][]byte
}

func (f *folder) keep() error {
	f.kept = map[string][]byte{}
	return f.each(func(name string) (err error) {
		f.kept[name], err = os.ReadFile(name)
		return err
	})
}

func (f *folder) restore() error {
	err := f.each(func(name string) error {
		if f.kept[name] == nil {
			return os.Remove(name)
		}
		return nil
	})
	for name, text := range f.kept {
		err = errors.Join(err, os.WriteFile(name, text, 0o600))
	}
	return err
}

func (f *folder) each(do func(name string) error) error {
	all, err := os.ReadDir(f.dir)
	for _, one := range all {
		if !one.IsDir() {
			err = errors.Join(err, do(filepath.Join(f.dir, one.Name())))
		}
	}
	return err
}

// A database keeps a journal in PostgreSQL.
type database struct {
	address string
	conn    *pgx.Conn
}

func newDatabase(t *testing.T) *database {
	d := &database{address: pgtest.Shared(t).Database(t)}
	var err error
	if d.conn, err = pgx.Connect(context.Background(), d.address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.conn.Close(context.Background()) })
	return d
}

func (d *database) keep() error {
	if d == nil {
		return nil
	}
	_, err := d.conn.Exec(context.Background(), `CREATE SCHEMA kept;
		DO $$ DECLARE t text; BEGIN
			FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
				EXECUTE format('CREATE TABLE kept.%1$I AS TABLE public.%1$I', t);
			END LOOP;
		END $$`)
	return err
}

// restore also sets the counters of the tables, so that a run always makes the same numbers.
func (d *database) restore() error {
	if d == nil {
		return nil
	}
	_, err := d.conn.Exec(context.Background(), `SET session_replication_role = replica;
		DO $$ DECLARE t text; s text; BEGIN
			FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
				EXECUTE format('DELETE FROM public.%1$I; INSERT INTO public.%1$I SELECT * FROM kept.%1$I', t);
				IF EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = 'public'
						AND table_name = t AND column_name = 'id' AND is_identity = 'YES') THEN
					EXECUTE format('SELECT setval(pg_get_serial_sequence(''public.%1$I'', ''id''),
						(SELECT coalesce(max(id), 0) + 1 FROM public.%1$I), false)', t);
				END IF;
			END LOOP;
		END $$`)
	return err
}
