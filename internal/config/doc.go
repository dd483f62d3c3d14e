// Package config finds the settings of a command: from its flags, the environment, the configuration file and
// built-in defaults, in this order of precedence. It also edits the configuration file, and finds the key.
//
// [Input.Load] reads the file strictly. An unknown key, a duplicate key, a value of the wrong kind, an alias and a
// second document are errors with their line. A file that others own, can write or can replace is refused whole,
// because its writer decides where money goes. The file never holds a key itself.
//
// A command calls [Resolve] once, with the program's flags. Resolve does not check that a command has what it
// needs: a command that calls the service checks that with [Settings.RequireBaseURL] and [Keys.Key], so that
// `config show` works on a machine without either.
//
// There is always a profile "sandbox". It has no settings in the file, and its own currencies. It has an
// address only if a flag or the environment names one. Otherwise it means the sandbox inside this program.
//
// A key from the profile is sent to the profile's own server only. A key that is marked as a sandbox's is sent to
// loopback addresses only, and the profile sandbox takes no other key.
//
// The process's environment, streams and home directory come in through [Input] and [Keys], with one exception: a
// key command inherits the environment, as any command does.
package config
