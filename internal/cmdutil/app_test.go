package cmdutil

import "testing"

func TestHome(t *testing.T) {
	for _, c := range []struct{ system, home, profile, want string }{
		{"linux", "/home/ann", `C:\Users\Ann`, "/home/ann"},
		{"linux", "", `C:\Users\Ann`, ""},
		{"windows", "", `C:\Users\Ann`, `C:\Users\Ann`},
		{"windows", `D:\Ann`, `C:\Users\Ann`, `D:\Ann`},
	} {
		env := func(name string) string { return map[string]string{"HOME": c.home, "USERPROFILE": c.profile}[name] }
		if got := homeOn(c.system, env); got != c.want {
			t.Errorf("%v: %q", c, got)
		}
	}
}
