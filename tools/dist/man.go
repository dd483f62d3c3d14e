package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/till/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manPages returns the man pages of all commands (section 1) and topics (section 7) by file name.
func manPages() map[string][]byte {
	pages := map[string][]byte{}
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		if cmd.IsAdditionalHelpTopicCommand() {
			pages[pageName(cmd)+".7"] = topicPage(cmd)
			return
		}
		for _, child := range cmd.Commands() {
			add(child)
		}
		if cmd.IsAvailableCommand() || !cmd.HasParent() {
			pages[pageName(cmd)+".1"] = commandPage(cmd)
		}
	}
	tree := cli.Tree()
	tree.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // they are in till-flags(7)
	add(tree)
	return pages
}

// heading begins a page. It has no date, so that a page changes with the help and at no other time. Words are
// not hyphenated, which groff does again after each heading if HY says so, and lines are not stretched to the
// right margin, where commands would get gaps.
func heading(name, section, short string) string {
	return fmt.Sprintf(".TH %q %q \"\" till \"till manual\"\n.nr HY 0\n.nh\n.ad l\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(name), section, roff(name), roff(short))
}

func commandPage(cmd *cobra.Command) []byte {
	cmd.InitDefaultHelpFlag()
	var b bytes.Buffer
	b.WriteString(heading(pageName(cmd), "1", cmd.Short))
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		usage = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fP\n.SH DESCRIPTION\n%s", roff(usage), paragraphs(cmp.Or(cmd.Long, cmd.Short)))
	var also []string
	if cmd.HasParent() {
		also = append(also, reference(pageName(cmd.Parent()), "1"))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() && !child.IsAdditionalHelpTopicCommand() {
			fmt.Fprintf(&b, ".TP 12\n\\fB%s\\fP\n%s\n", roff(child.Name()), roff(child.Short))
			also = append(also, reference(pageName(child), "1"))
		}
	}
	b.WriteString(".SH OPTIONS\n")
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			b.WriteString(option(f))
		}
	})
	if global := cli.MostUsed(cmd); global.HasFlags() {
		b.WriteString(".SH GLOBAL OPTIONS\n")
		global.VisitAll(func(f *pflag.Flag) {
			shown := *f
			shown.Hidden = false // which keeps it off the page of till
			b.WriteString(option(&shown))
		})
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + literal(cmd.Example))
	}
	if cmd.HasParent() {
		also = append(also, reference("till-flags", "7"))
	} else {
		for _, topic := range cmd.Commands() {
			if topic.IsAdditionalHelpTopicCommand() {
				also = append(also, reference(pageName(topic), "7"))
			}
		}
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	return b.Bytes()
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func reference(page, section string) string { return fmt.Sprintf(`\fB%s\fP(%s)`, roff(page), section) }

// option describes a flag with the words that the help has for it: its names and its value, then what it
// does.
func option(f *pflag.Flag) string {
	alone := pflag.NewFlagSet("", pflag.ContinueOnError)
	alone.AddFlag(f)
	names, usage, _ := strings.Cut(strings.TrimSpace(alone.FlagUsages()), "   ")
	words := strings.Fields(names)
	for i, word := range words {
		font := `\fI`
		if strings.HasPrefix(word, "-") {
			font = `\fB`
		}
		words[i] = font + roff(word) + `\fP`
	}
	return fmt.Sprintf(".TP\n%s\n%s\n", strings.Join(words, " "), roff(strings.TrimSpace(usage)))
}

// topicPage shows the text of a topic as it is: it is set for terminals already.
func topicPage(cmd *cobra.Command) []byte {
	var text bytes.Buffer
	cmd.SetOut(&text)
	check(cmd.Help())
	return []byte(heading(pageName(cmd), "7", cmd.Short) + ".SH DESCRIPTION\n" + literal(text.String()))
}

// paragraphs sets a help text. Indented lines stay lines.
func paragraphs(text string) string {
	var b strings.Builder
	for _, part := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(part, "\n"), "\n")
		for len(lines) > 0 {
			indented := strings.HasPrefix(lines[0], "  ")
			n := 1
			for n < len(lines) && strings.HasPrefix(lines[n], "  ") == indented {
				n++
			}
			block := strings.Join(lines[:n], "\n")
			if indented {
				b.WriteString(literal(block))
			} else {
				b.WriteString(".PP\n" + roff(block) + "\n")
			}
			lines = lines[n:]
		}
	}
	return b.String()
}

// literal shows lines as they are. They are as wide as a terminal, so they are not indented.
func literal(text string) string {
	return ".PP\n.in 0\n.EX\n" + roff(strings.Trim(text, "\n")) + "\n.EE\n"
}

// roff makes every character of a text stand for itself. A line is not broken after its hyphens, so that
// names can be copied and searched for.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	return regexp.MustCompile(`(?m)^\.`).ReplaceAllString(text, `\&.`)
}

// writeMan replaces the man pages in a directory.
func writeMan(dir string) {
	check(os.MkdirAll(dir, 0o755))
	for _, path := range checked(filepath.Glob(filepath.Join(dir, "till*.[17]"))) {
		check(os.Remove(path))
	}
	for name, page := range manPages() {
		check(os.WriteFile(filepath.Join(dir, name), page, 0o644))
	}
}
