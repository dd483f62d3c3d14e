# Turns the report of a command, which on_finish gets on standard input, into a text for a person.
def states: to_entries | map(select(.value > 0) | "\(.value) \(.key)") | join(", ");

(if .exit_code == 0 then "done" else "\(.kind) (exit code \(.exit_code))" end) as $how
| [
	"till \(.command)\(.run // .order_id | if . then " " + . else "" end): \($how)",
	.message,
	(.hint.text | strings | "Next: \(.)"),
	(.orders | objects | "Orders: \(states)"),
	(.amounts | arrays | .[] | "\(.of): \(.amount // "\(.amount_minor) minor units of") \(.currency)"),
	(.unsettled | objects | states | select(. != "") | "Open in the journal: \(.)"),
	"\(.account) at \(.service), \(.started), \(.seconds) s, \(.calls) calls"
]
| map(strings)
| join("\n")
