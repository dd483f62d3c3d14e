// Package config finds out under which settings a command runs: from its flags, the environment, the configuration file
// and built-in defaults, in this order of precedence. It also keeps the configuration file, and finds the key.
//
// # The file
//
// It is YAML, in $XDG_CONFIG_HOME/till/config.yaml, or where --config or TILL_CONFIG say. The current directory is never
// looked at. [Load] reads it strictly: an unknown key, a key given twice, a value of the wrong kind, an alias, a second
// document are errors with their line, and a file that others own, can write or can replace is refused whole, because
// who can write it decides where money goes. A key itself is never
// in the file.
//
// [Edit] changes it as a person would: comments and order stay, the result is checked before it takes the old one's place,
// and a lock keeps two processes from losing each other's changes.
//
// # Settings
//
// [Resolve] is called once for a command, with the program's flags, and returns [Settings]: every value with its
// origin. It answers for what is there, not for what a command needs; a command that calls the service asks
// [Settings.RequireBaseURL] and [Keys.Key] itself, so that `config show` works on a machine without either.
//
// There is always a profile "sandbox". It has no settings in the file, its own currencies, and an address only where a
// flag or the environment names one; otherwise it means the sandbox inside this program.
//
// # Keys
//
// [Keys.Key] takes the first of: --api-key-file, TILL_API_KEY, the profile's api_key_command, its api_key_file, the
// operating system's keyring. A key that comes from the profile is sent to the profile's own server only. One
// that is marked as a sandbox's is sent to loopback addresses only, and the profile sandbox takes no other.
//
// # Errors
//
// An [*Error] is about this machine: the file, the environment, a key. A [*UsageError] is about what was typed. Both
// are sentences, with a Hint that says what to type where there is something to type.
//
// Nothing here reads the process's environment, streams or home directory by itself. All of it comes in through [Input] and
// [Keys], with one exception: a key command inherits the environment, as any command does.
package config
