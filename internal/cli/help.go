package cli

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// describe gives a command its page in help/commands: what it does, and examples below a line that says so. A
// command without a page is a topic, or a group whose example is that of its first command.
func describe(cmd *cobra.Command) {
	name := "help/commands/" + strings.ReplaceAll(cmdline.CommandName(cmd), " ", "/")
	page, _ := helpFiles.ReadFile(name + ".txt")
	about, examples, _ := strings.Cut("\n"+strings.TrimSuffix(string(page), "\n"), "\nExamples:\n")
	cmd.Long, cmd.Example = cmp.Or(strings.TrimSpace(about), cmd.Long), cmp.Or(examples, cmd.Example)
}

func help(a *cmdutil.App, root *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "help [COMMAND|TOPIC]",
		Short:                 "Help about a command or a topic",
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeTopics(root, given, typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, names []string) error {
			about, err := findTopic(root, names)
			if err != nil {
				return err
			}
			return a.Write(helpPage(a, about))
		},
	}
	describe(cmd)
	return cmd
}

// helpPage returns the help of a command or topic for standard output.
func helpPage(a *cmdutil.App, cmd *cobra.Command) string {
	page := topicPage(cmd)
	if page == "" {
		cmd.InitDefaultHelpFlag()
		page = cmp.Or(cmd.Long, cmd.Short) + "\n\n" + usage(a, cmd)
	}
	return strings.TrimRight(forTerminal(a, cmd, page), "\n") + "\n"
}

// usage returns how a command is used. A list of all global flags would push its own flags off the screen, so it
// has only the most used of those that the command heeds.
func usage(a *cmdutil.App, cmd *cobra.Command) string {
	line, global := cmd.UseLine(), MostUsed(cmd)
	if cmd.HasAvailableSubCommands() {
		line = cmd.CommandPath() + " COMMAND"
	}
	text := "Usage:\n  " + line + "\n"
	if cmd.HasExample() {
		text += "\nExamples:\n" + wrapCommands(cmd.Example, pageWidth(a)) + "\n"
	}
	if !cmd.HasParent() {
		for _, g := range commandGroups() {
			var commands []*cobra.Command
			for _, name := range strings.Fields(g.commands) {
				found, _, _ := cmd.Find([]string{name})
				commands = append(commands, found)
			}
			text += "\nCommands (" + strings.ToLower(g.title) + "):\n" + listed(commands)
		}
		text += "\nTopics (till help TOPIC):\n" + fill("", 2, strings.Join(topics(), ", "))
	} else if cmd.HasAvailableSubCommands() {
		text += "\nCommands:\n" + listed(cmd.Commands())
	}
	if cmd.HasParent() && cmd.HasAvailableLocalFlags() {
		text += "\nFlags:\n" + flagUsages(cmd.LocalFlags(), pageWidth(a))
	}
	if global.HasFlags() {
		text += "\nGlobal Flags:\n" + flagUsages(global, pageWidth(a)) + "  and those in: till help flags\n"
	} else if cmd.HasAvailableInheritedFlags() {
		text += "\nGlobal flags: till help flags\n"
	}
	return text
}

// wrapCommands breaks the lines of commands on a narrow terminal. A shell reads them as before: what is quoted
// is not broken.
func wrapCommands(text string, width int) string {
	if width == helpWidth {
		return text
	}
	quoted := regexp.MustCompile(`'[^'\n]*'|"[^"\n]*"`)
	text = quoted.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, " ", "\a") })
	text = render.WrapWords(strings.ReplaceAll(text, "\n", "\n\a"), width-2, 4)
	return strings.NewReplacer("\n\a", "\n", "\n", " \\\n", "\a", " ").Replace(text)
}

func listed(commands []*cobra.Command) (text string) {
	for _, cmd := range commands {
		if cmd.IsAvailableCommand() {
			text += fmt.Sprintf("  %-*s %s\n", cmd.NamePadding(), cmd.Name(), cmd.Short)
		}
	}
	return text
}

// MostUsed returns the global flags that the help of a command shows, if the command heeds them.
func MostUsed(cmd *cobra.Command) *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	names := heeded(cmd)
	if !cmd.HasParent() {
		names = []string{"profile", "sandbox", "output", "jq", "quiet", "yes", "dry-run", "timeout", "color"}
	}
	shown := []string{"output", "quiet", "jq", "yes", "timeout"}
	if cmdline.Does(cmd, cmdline.Money) || cmdline.Does(cmd, cmdline.Service) {
		shown = append(shown, "dry-run")
	}
	for _, name := range names {
		if !cmd.HasParent() || cmdline.IsAnnotated(cmd) && slices.Contains(shown, name) {
			flags.AddFlag(cmd.Root().PersistentFlags().Lookup(name))
		}
	}
	return flags
}

// forTerminal returns a help text for standard output: on a terminal that is narrow its lines are wrapped,
// and with colours its heads are bold. A head is one line with an indented one below.
func forTerminal(a *cmdutil.App, cmd *cobra.Command, text string) string {
	lines := strings.Split(text, "\n")
	choice := cmd.Root().PersistentFlags().Lookup("color").Value.String()
	color, width := a.IO.Look(choice, a.IO.Out).Color, pageWidth(a)
	var b strings.Builder
	for i, line := range lines {
		below := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ")
		prose := line != "" && line[0] != ' '
		switch {
		case prose && below && (i == 0 || lines[i-1] == "") && color:
			line = render.Options{Color: true}.Styled(render.Bold, line)
		case width < helpWidth && prose && !below && i+1 < len(lines) && lines[i+1] != "":
			lines[i+1] = line + " " + lines[i+1] // the paragraph goes on
			continue
		}
		if width < helpWidth {
			indent := len(line) - len(strings.TrimLeft(line, " "))
			line = render.WrapWords(line, width, min(2*indent, width/2))
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// pageWidth is the width of a help text: that of the terminal, and at most helpWidth.
func pageWidth(a *cmdutil.App) int {
	return min(cmp.Or(terminal.Width(a.IO.Out), helpWidth), helpWidth)
}

func findTopic(root *cobra.Command, names []string) (*cobra.Command, error) {
	cmd, unknown, err := root.Find(names)
	if err != nil || len(unknown) == 0 {
		return cmd, err
	}
	hint := "see: till help"
	if cmd.HasParent() {
		hint += " " + cmdline.CommandName(cmd)
	}
	return nil, exit.UsageError(fmt.Sprintf("there is no help about %q: %s has no command or topic of that name",
		unknown[0], cmd.CommandPath()), cmp.Or(cmdline.NearTopic(cmd, unknown[0]), hint))
}

func completeTopics(root *cobra.Command, given []string, typed string) []string {
	cmd, err := findTopic(root, given)
	if err != nil {
		return nil
	}
	var offers []string
	for _, child := range cmd.Commands() {
		if (child.IsAvailableCommand() || child.IsAdditionalHelpTopicCommand()) &&
			strings.HasPrefix(child.Name(), typed) {
			offers = append(offers, cmdline.WithText(child.Name(), child.Short))
		}
	}
	return offers
}

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
		"{{exitCodes}}", linesFor(exit.Codes(), 21,
			func(e exit.ErrorKind) (string, string) { return fmt.Sprintf("%2d  %s", e.Code, e.Kind), e.Meaning }),
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

// flagLines returns the lines for the global flags, by what they are about.
func flagLines() string {
	global := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(global)
	countFlags(global)
	var parts []string
	for _, g := range []struct{ title, flags string }{
		{"Account", "profile sandbox base-url api-key-file journal config"},
		{"Output", "output jq template columns sort csv-for locale no-headers quiet color"},
		{"Calls", "dry-run timeout retries debug"}, {"Questions", "yes no-input"},
	} {
		group := pflag.NewFlagSet("", pflag.ContinueOnError)
		group.SortFlags = false
		for _, name := range strings.Fields(g.flags) {
			group.AddFlag(global.Lookup(name))
		}
		parts = append(parts, g.title+"\n"+strings.TrimSuffix(flagUsages(group, helpWidth), "\n"))
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
