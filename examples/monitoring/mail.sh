#!/bin/sh
# Mails how a command of till has ended. In a profile:
#
#   on_finish: [/usr/local/lib/till/mail.sh, payroll@example.com]
#
# It needs jq, report.jq in its own directory, and a mail server with a sendmail program. SENDMAIL names another program.
set -eu
to=$1
text=$(jq -r -f "$(dirname "$0")/report.jq")
{
	printf 'To: %s\n' "$to"
	printf 'Subject: %s\n' "$(printf '%s\n' "$text" | sed 1q)"
	printf 'Content-Type: text/plain; charset=utf-8\nAuto-Submitted: auto-generated\n\n'
	printf '%s\n' "$text"
} | "${SENDMAIL:-/usr/sbin/sendmail}" -i -t
