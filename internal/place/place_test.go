package place

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckRefusesMistypedAddresses checks that a mistyped address is never taken as a file name: the file
// would have the password in its name, and no history.
func TestCheckRefusesMistypedAddresses(t *testing.T) {
	for _, text := range []string{
		"postgres:/till:s3cret@db/till", "postgres:till:s3cret@db/till", "postgresql:/till:s3cret@db/till", "postgres:/",
		"postgres:",
		"Postgres://till:s3cret@db/till", "POSTGRES:/till:s3cret@db/till", "sqlite:/var/journal.db", "file:/var/journal.db",
		"file:journal.db",
		"mysql://till:s3cret@db/till", "mysql:/till:s3cret@db", "pg:till:s3cret@db",
		"jdbc:postgresql://db/till?password=s3cret",
		"postgres//till:s3cret@db/till", "postgres;//till:s3cret@db/till", "//till:s3cret@db/till", "till:s3cret@db/till",
		"postgres%3A//till:s3cret@db/till",
		" postgres:/till:s3cret@db/till", "://till:s3cret@db", "a/b://till:s3cret@db",
		"postgres://till:s3/cret@db/till", "postgres://till:s3#cret@db/till", "postgres://till:s3?cret@db/till",
		"postgres://till:s3cret@db:none/till", "postgres://till:s3%zz@db/till",
		"host=db password=s3cret", "dbname=till",
	} {
		err := Check(text)
		if err == nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if strings.Contains(err.Error(), "s3") {
			t.Errorf("%q is shown: %v", text, err)
		}
	}
}

func TestCheckTakes(t *testing.T) {
	for _, text := range []string{
		"/var/lib/till/journal.db", "journal.db", "./postgres:odd@name.db", "../a:b@c", "~/a:b@c.db",
		filepath.Join(t.TempDir(), "a:b@c.db"), "with space.db", ":memory:", "ünïcode.db", "ann@host.db",
		"postgres://till@db/till", "postgresql://till:p%40w@db:5432/till?sslmode=verify-full",
		"postgres:///till?host=/run/postgresql", "postgres://till@[::1]:5432/till",
	} {
		if err := Check(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"postgres:/till:s3cret@db/till":          "postgres:xxxxx@db/till",
		"mysql://u:s3cret@db/x?password=s3cret":  "mysql:xxxxx@db/x",
		"Postgres://till:s3cret@db/till":         "Postgres:xxxxx@db/till",
		"postgres:/db/till?password=s3cret":      "postgres:xxxxx",
		"till:s3cret@db/till":                    "till:xxxxx@db/till",
		"//till:s3cret@db/till":                  "//till:xxxxx@db/till",
		"s3@cret://x":                            "xxxxx",
		"postgres://till:12@34/s3cret@db/till":   "postgres://xxxxx@db/till",
		"/home/me/a:b@c.db":                      "/home/me/a:b@c.db",
		"postgresql:/till:s3cret@db@elsewhere/x": "postgresql:xxxxx@elsewhere/x",
		"postgres://till@db/till":                "postgres://till@db/till",
		"postgresql://till:p:w@x@db:5432/till":   "postgresql://till:xxxxx@db:5432/till",
		"postgres://till:@db/till":               "postgres://till:xxxxx@db/till",
		"postgres://db/t?user=u&password=w&a=b":  "postgres://db/t?user=u&password=xxxxx&a=b",
		"postgres://db/till?sslPassword=w":       "postgres://db/till?sslPassword=xxxxx",
		"postgres://db/till?p%61ssword=w":        "postgres://db/till?p%61ssword=xxxxx",
		"postgres://till:p/w@db/till":            "postgres://xxxxx@db/till",
	} {
		if got := Redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestOtherPeople(t *testing.T) {
	const services = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" +
		"postgres:x:101:104::/var/lib/postgresql:/bin/bash\nbroken\n"
	const ann = "ann:x:1000:1000::/home/ann:/bin/bash\n"
	for _, test := range []struct {
		passwd string
		euid   int
		want   bool
	}{{services, 0, false}, {services, 65532, false}, {"", 0, false}, {services + ann, 1000, false},
		{services + ann, 0, true}, {services + ann, 1001, true}} {
		if got := otherPeople(test.passwd, test.euid); got != test.want {
			t.Errorf("for %d, %q: %v", test.euid, test.passwd, got)
		}
	}
}
