package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"example.com/till/internal/cli"
	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manPages returns the man pages of all commands (section 1) and topics (section 7) by file name.
func manPages() (map[string][]byte, error) {
	pages := map[string][]byte{}
	var add func(*cobra.Command) error
	add = func(cmd *cobra.Command) error {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		if cmd.IsAdditionalHelpTopicCommand() {
			page, err := topicPage(name, cmd)
			pages[name+".7"] = page
			return err
		}
		for _, child := range cmd.Commands() {
			if err := add(child); err != nil {
				return err
			}
		}
		if !cmd.IsAvailableCommand() && cmd.HasParent() {
			return nil
		}
		page, err := commandPage(cmd)
		pages[name+".1"] = page
		return err
	}
	tree := cli.Tree()
	tree.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // they are in till-flags(7)
	err := add(tree)
	return pages, err
}

// heading replaces the heading of a page. It has no date, so that a page changes with the help and at no other
// time. Lines are not stretched to the right margin, where commands would get gaps.
func heading(page []byte, name, section string) []byte {
	text := fmt.Appendf(nil, ".TH %q %q \"\" till \"till manual\"\n.ad l", strings.ToUpper(name), section)
	return regexp.MustCompile(`(?m)^\.TH .*$`).ReplaceAllLiteral(page, text)
}

// emptyDefault is a default of a flag that says nothing, after the name of the flag.
var emptyDefault = regexp.MustCompile(`\\fP(?:=""|\[=false\]|=\[\]|=0(?m:$))`)

func commandPage(cmd *cobra.Command) ([]byte, error) {
	cmd.DisableAutoGenTag = true
	cmd.Long = markdown(cmd.Long)
	var b bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Date: &time.Time{}}, &b); err != nil {
		return nil, err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	page := emptyDefault.ReplaceAll(b.Bytes(), []byte(`\fP`))
	if cmd.HasAvailableSubCommands() {
		page = withCommands(page, cmd)
	}
	if cmd.HasParent() {
		page = append(bytes.TrimRight(page, "\n"), ", \\fBtill-flags(7)\\fP\n"...)
	} else {
		for _, topic := range cmd.Commands() {
			if topic.IsAdditionalHelpTopicCommand() {
				page = fmt.Appendf(bytes.TrimRight(page, "\n"), ", \\fBtill-%s(7)\\fP", topic.Name())
			}
		}
		page = append(page, '\n')
	}
	return heading(page, name, "1"), nil
}

// withCommands adds what cobra leaves out of the page of a command with subcommands: which there are.
func withCommands(page []byte, cmd *cobra.Command) []byte {
	page = bytes.Replace(page, []byte(`\fB`+cmd.CommandPath()+"\\fP\n"), []byte(`\fB`+cmd.CommandPath()+" COMMAND\\fP\n"), 1)
	list := []byte(".SH COMMANDS\n")
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			list = fmt.Appendf(list, ".TP 12\n\\fB%s\\fP\n%s\n", child.Name(), child.Short)
		}
	}
	return bytes.Replace(page, []byte(".SH OPTIONS\n"), append(list, ".SH OPTIONS\n"...), 1)
}

// topicPage shows the text of a topic as it is: it is set for terminals already.
func topicPage(name string, cmd *cobra.Command) ([]byte, error) {
	var text bytes.Buffer
	cmd.SetOut(&text)
	if err := cmd.Help(); err != nil {
		return nil, err
	}
	page := fmt.Sprintf("%% %s 7\n# NAME\n%s - %s\n\n# DESCRIPTION\n```\n%s\n```\n", name, name, cmd.Short,
		strings.TrimRight(text.String(), "\n"))
	// The text is as wide as a terminal, so it is not indented.
	roff := bytes.ReplaceAll(md2man.Render([]byte(page)), []byte(".EX\n"), []byte(".in 0\n.EX\n"))
	return heading(roff, name, "7"), nil
}

// markdown makes a help text safe for cobra, which takes it for Markdown: characters stand for themselves, and
// indented lines stay lines.
func markdown(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if indented := strings.HasPrefix(line, "  "); indented != fenced && strings.TrimSpace(line) != "" {
			b.WriteString("```\n")
			fenced = indented
		}
		if !fenced {
			line = special.ReplaceAllString(line, `\$0`)
		}
		b.WriteString(line)
	}
	if fenced {
		b.WriteString("\n```\n")
	}
	return b.String()
}

var special = regexp.MustCompile("[\\\\`*_<>\\[\\]#|~]")

// writeMan replaces the man pages in a directory.
func writeMan(dir string) error {
	pages, err := manPages()
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "till*.[17]"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if pages[filepath.Base(path)] == nil {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
			return err
		}
	}
	return nil
}
