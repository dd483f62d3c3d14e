package place

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Alone reports whether the machine's list of users has no person but this one, as in a container, which may have no
// list at all.
func Alone() bool {
	users, err := os.ReadFile("/etc/passwd")
	return (err == nil || errors.Is(err, fs.ErrNotExist)) && !otherPeople(string(users), os.Geteuid())
}

// otherPeople reports whether a list of users, as in /etc/passwd, has a person other than this user.
func otherPeople(passwd string, euid int) bool {
	const first, last = 1000, 59999 // the numbers of people; services have others
	for line := range strings.Lines(passwd) {
		fields := strings.Split(line, ":")
		if len(fields) < 3 {
			continue
		}
		if uid, err := strconv.Atoi(fields[2]); err == nil && uid >= first && uid <= last && uid != euid {
			return true
		}
	}
	return false
}
