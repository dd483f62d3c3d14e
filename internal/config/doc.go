// Package config finds the settings of a command: from its flags, the environment, the configuration file and
// built-in defaults, in this order of precedence. It also edits the configuration file, and finds the key.
//
// # The file
//
// It is YAML, in $XDG_CONFIG_HOME/till/config.yaml, or where --config or TILL_CONFIG say. The current
// directory is never searched. [Input.Load] reads the file strictly. An unknown key, a duplicate key, a value of
// the wrong kind, an alias and a second document are errors with their line. A file that others own, can
// write or can replace is refused whole, because its writer decides where money goes. The file never holds a
// key itself.
//
// [Edit] changes the file as a person would: it keeps comments and order. It checks the result before it
// replaces the old file, and a lock keeps two processes from losing each other's changes.
//
// # Settings
//
// A command calls [Resolve] once, with the program's flags. It returns [Settings]: every value with its
// origin. Resolve does not check that a command has what it needs. A command that calls the service checks
// that itself with [Settings.RequireBaseURL] and [Keys.Key], so that `config show` works on a machine without
// either.
//
// There is always a profile "sandbox". It has no settings in the file, and its own currencies. It has an
// address only if a flag or the environment names one. Otherwise it means the sandbox inside this program.
//
// # Keys
//
// [Keys.Key] takes the first of: --api-key-file, TILL_API_KEY, the profile's api_key_command, its
// api_key_file, the operating system's keyring. A key from the profile is sent to the profile's own server
// only. A key that is marked as a sandbox's is sent to loopback addresses only, and the profile sandbox takes
// no other key.
//
// The package does not read the process's environment, streams or home directory itself. All of it comes in
// through [Input] and [Keys], with one exception: a key command inherits the environment, as any command
// does.
package config
