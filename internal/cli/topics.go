package cli

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the maximum width of the topics. They are read in terminals of 80 columns.
const helpWidth = 79

// helpFiles are the topics, the pages of the help that belong to no command: a line for lists of topics, an
// empty line, and the page, of at most 60 lines. Names in double braces are those of fillIn.
// help/commands has the pages of the commands.
//
//go:embed help
var helpFiles embed.FS

// fillIn adds to a topic what the program itself knows. The settings are without the currencies, which till
// currency set writes.
func fillIn(page string) string {
	described := func(d config.Described) (string, string) { return d.Name, d.About }
	settings := slices.DeleteFunc(config.ProfileSettings(), func(d config.Described) bool { return d.Name == "currencies" })
	return strings.NewReplacer(
		"{{flags}}", flagLines(),
		"{{exitCodes}}", linesFor(cmdutil.ExitCodes(), 21,
			func(e cmdutil.ErrorKind) (string, string) { return fmt.Sprintf("%2d  %s", e.Code, e.Kind), e.Meaning }),
		"{{settings}}", linesFor(settings, 22, described),
		"{{variables}}", linesFor(config.Variables(), 22, described),
	).Replace(page)
}

// linesFor returns a line for each row, or several: a name, and what it means.
func linesFor[T any](rows []T, indent int, of func(T) (name, about string)) string {
	var b strings.Builder
	for _, row := range rows {
		name, about := of(row)
		b.WriteString(fill("  "+name, indent, about))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// topics returns the names of the topics, in alphabetical order.
func topics() (names []string) {
	files, _ := fs.Glob(helpFiles, "help/*.txt")
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".txt"))
	}
	return names
}

// topic returns a topic as a command. Cobra treats a command that cannot be run as a help topic.
func topic(name string) *cobra.Command {
	text, _ := helpFiles.ReadFile("help/" + name + ".txt")
	short, _, _ := strings.Cut(string(text), "\n")
	return &cobra.Command{Use: name, Short: short, Example: "  till help " + name}
}

// topicPage returns the page of a topic, or "" for a command.
func topicPage(cmd *cobra.Command) string {
	if cmd.Runnable() {
		return ""
	}
	text, _ := helpFiles.ReadFile("help/" + cmd.Name() + ".txt")
	_, page, _ := strings.Cut(string(text), "\n\n")
	return fillIn(page)
}

// flagGroups are the global flags by what they are about.
func flagGroups() []struct{ title, flags string } {
	return []struct{ title, flags string }{
		{"Account", "profile sandbox base-url api-key-file journal config"},
		{"Output", "output jq template columns sort csv-for locale no-headers quiet color"},
		{"Calls", "dry-run timeout retries debug"},
		{"Questions", "yes no-input"},
	}
}

func flagLines() string {
	global := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(global)
	countFlags(global)
	var parts []string
	for _, g := range flagGroups() {
		group := pflag.NewFlagSet("", pflag.ContinueOnError)
		group.SortFlags = false
		for _, name := range strings.Fields(g.flags) {
			group.AddFlag(global.Lookup(name))
		}
		parts = append(parts, g.title+"\n"+strings.TrimSuffix(namedFlags(group).FlagUsagesWrapped(helpWidth), "\n"))
	}
	return strings.Join(parts, "\n\n")
}

// overview returns the first screen: it has to fit 24 lines of 80 columns.
func overview(a *cmdutil.App, root *cobra.Command) string {
	all := commands(nil)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nUsage: till COMMAND [FLAGS], till help COMMAND, till help TOPIC or flags\nTry: %s\n", root.Short, strings.TrimSpace(root.Example))
	for _, g := range commandGroups() {
		label := g.title
		for _, name := range strings.Fields(g.commands) {
			fmt.Fprintf(&b, "%-11s%-12s%s\n", label, name, all[name](a).Short)
			label = ""
		}
	}
	return b.String() + fill("Topics", 11, strings.Join(topics(), ", "))
}

// fill breaks text into lines of at most helpWidth columns. The first line begins with label, padded to
// indent. The other lines are indented by as much.
func fill(label string, indent int, text string) string {
	head := fmt.Sprintf("%-*s", indent, label)
	if len(label) >= indent { // a label that is too wide gets its own line
		head = label + "\n" + strings.Repeat(" ", indent)
	}
	return render.WrapWords(head+text, helpWidth, indent) + "\n"
}
