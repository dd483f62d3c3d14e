#!/bin/sh
# Posts how a command of till has ended to a webhook that takes {"text": ...}, as those of Slack and Mattermost do.
# In a profile:
#
#   on_finish: [/usr/local/lib/till/chat.sh, /etc/till/webhook]
#
# The file has the URL of the webhook. Whoever has the URL can post, so keep the file to yourself (chmod 600). It needs
# curl, jq, and report.jq in its own directory.
set -eu
url=$(cat "$1")
# A command line is public, so curl reads the URL and the text from its standard input.
{
	printf 'url = "%s"\n' "$url"
	jq -r -f "$(dirname "$0")/report.jq" | # <!channel> would call everybody
		jq -Rrs '{text: (gsub("&"; "&amp;") | gsub("<"; "&lt;") | gsub(">"; "&gt;"))} | "data-binary = \(tojson | tojson)"'
} | curl -fsS --max-time 15 --retry 2 -o /dev/null -H 'Content-Type: application/json' --config -
