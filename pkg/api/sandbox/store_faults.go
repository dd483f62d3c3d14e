package sandbox

import (
	"slices"
	"strconv"
)

func (st *state) fault(id string) *Fault {
	if st.faults != nil {
		for i := range *st.faults {
			if f := &(*st.faults)[i]; f.ID == id {
				return f
			}
		}
	}
	return nil
}

// putFault and mend make a new list each time: requests look at the old one
// without a lock.
func (st *state) putFault(f *Fault) {
	var list []Fault
	if st.faults != nil {
		list = slices.Clone(*st.faults)
	}
	at := slices.IndexFunc(list, func(old Fault) bool { return old.ID == f.ID })
	if at < 0 {
		list = append(list, *f)
		if n, err := strconv.ParseInt(f.ID, 10, 64); err == nil {
			st.lastFault = max(st.lastFault, n)
		}
	} else {
		list[at] = *f
	}
	st.faults = &list
}

func (st *state) mend(ids []string) {
	if st.faults == nil {
		return
	}
	list := slices.DeleteFunc(slices.Clone(*st.faults), func(f Fault) bool { return slices.Contains(ids, f.ID) })
	st.faults = &list
	if len(list) == 0 {
		st.faults = nil // so that requests need not look any further
	}
}
