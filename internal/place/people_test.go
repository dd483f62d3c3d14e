package place

import "testing"

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
