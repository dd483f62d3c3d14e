package config

// Origin says where a setting or a key comes from. The zero Origin is the built-in default.
type Origin struct {
	Kind    OriginKind
	Name    string // of the flag, the variable, the profile or the key of the file; empty for the other kinds
	Setting string // for a key of the service: the setting of that profile that names it; otherwise empty
}

// OriginKind is the kind of an Origin.
type OriginKind int

// The kinds of origins.
const (
	FromDefault OriginKind = iota
	FromFlag
	FromVariable
	FromProfile
	FromFile // the file, but none of its profiles
	FromKeyring
	FromSandbox
	FromCaller // a key to be stored
)

// IsDefault reports whether the value is the built-in default.
func (o Origin) IsDefault() bool { return o.Kind == FromDefault }

// String returns the origin as `config show` prints it.
func (o Origin) String() string {
	switch o.Kind {
	case FromFlag:
		return "flag --" + o.Name
	case FromVariable:
		return "environment " + o.Name
	case FromProfile:
		if o.Setting != "" {
			return "profile " + o.Name + ", " + o.Setting
		}
		return "profile " + o.Name
	case FromFile:
		return "configuration " + o.Name
	case FromKeyring:
		return "keyring"
	case FromSandbox:
		return "the sandbox"
	case FromCaller:
		return "given"
	}
	return "default"
}

// Phrase returns the origin as a part of a sentence.
func (o Origin) Phrase() string {
	switch {
	case o.Kind == FromFlag:
		return o.typed()
	case o.Kind == FromVariable:
		return "the variable " + o.Name
	case o.Kind == FromProfile && o.Setting != "":
		return "the " + o.Setting + " of the profile " + o.Name
	case o.Kind == FromKeyring:
		return "the keyring"
	}
	return o.String()
}

// typed returns the flag or variable that a person set, such as --output or TILL_OUTPUT, and "" for other
// origins.
func (o Origin) typed() string {
	switch o.Kind {
	case FromFlag:
		return "--" + o.Name
	case FromVariable:
		return o.Name
	}
	return ""
}
