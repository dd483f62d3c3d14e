package config

import "github.com/spf13/pflag"

// AddFlags declares the flags that every command has. Resolve reads them back.
func AddFlags(fs *pflag.FlagSet) {
	fs.String("profile", "", "profile of the configuration to use; sandbox is built in")
	fs.Bool("sandbox", false, "short for --profile sandbox")
	fs.String("base-url", "", "address of the service")
	fs.String("api-key-file", "", "file that holds the key; - is standard input")
	fs.String("config", "", "configuration file")
	fs.StringP("output", "o", "table", "format of the output: table, json, jsonl, csv, yaml")
	fs.String("jq", "", "filter the JSON with a jq expression")
	fs.String("template", "", "print the JSON with a Go template")
	fs.StringSlice("columns", nil, "columns of a table or CSV; help lists their names")
	fs.String("sort", "", "sort a table or CSV by this column; -COLUMN is descending")
	fs.Bool("no-headers", false, "leave out the header of a table or CSV")
	fs.BoolP("quiet", "q", false, "print nothing but ids, each on a line")
	fs.BoolP("yes", "y", false, "take every confirmation as given")
	fs.Bool("no-input", false, "never ask for input")
	fs.Bool("dry-run", false, "show the exact request and send nothing")
	fs.Duration("timeout", 0, "limit of each call (default 30s for reads, 90s for creates)")
	fs.String("journal", "", "where sends are recorded: a file, or postgres://USER@HOST/DATABASE")
	fs.Int("retries", 3, "how often a read is tried again")
	fs.Bool("debug", false, "trace HTTP on standard error, without secrets")
	fs.String("color", "auto", "colour: auto, always, never")
}
