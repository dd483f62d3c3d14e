package cmdutil

// WantsColour decides whether a stream has colours: by --color, then NO_COLOR, then CLICOLOR_FORCE, then
// whether it is a terminal.
func WantsColour(choice string, env func(string) string, onTerminal bool) bool {
	switch choice {
	case "always":
		return true
	case "never":
		return false
	}
	if env("NO_COLOR") != "" {
		return false
	}
	if force := env("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return onTerminal && env("TERM") != "dumb"
}
