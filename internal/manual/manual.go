// Package manual writes manual pages, in mdoc(7), from the descriptions of the commands and of the configuration's
// keys.
package manual

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/internal/wholefile"
)

// Manual has the data that all pages of one program have in common.
type Manual struct {
	// Section is the section of the manual: 1 for users' commands, 5 for files, 8 for daemons.
	Section int
	// Date is the date on the pages.
	Date time.Time
	// More are sections that every page of a command has before EXAMPLES.
	More []Part
	// SeeAlso are other pages, such as waitcastd(8).
	SeeAlso []string
}

// Part is a section of a page: a title, text, and a list.
type Part struct {
	Title string
	// Text has paragraphs, which are separated by empty lines. A paragraph whose lines are indented is not wrapped.
	Text string
	List []Item
}

// Item is a term and its description.
type Item struct{ Term, Text string }

// Date returns the date for new pages. If $SOURCE_DATE_EPOCH is set, it is that date, so that builds can be repeated.
func Date() (time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// Command returns the hidden subcommand that writes the manual pages of a program. The function pages creates the
// pages.
func Command(pages func(root *cobra.Command, date time.Time) (map[string]string, error)) *cobra.Command {
	return &cobra.Command{
		Use: "manual DIR", Short: "Write the manual pages into a folder", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			date, err := Date()
			if err != nil {
				return err
			}
			all, err := pages(c.Root(), date)
			if err != nil {
				return err
			}
			return Write(args[0], all)
		},
	}
}

// pageMode is the file mode of a page: everybody may read it.
const pageMode fs.FileMode = 0o644

// Write writes pages into a folder, each into a file with its name.
func Write(dir string, pages map[string]string) error {
	for name, text := range pages {
		if err := wholefile.WriteBytes(filepath.Join(dir, name), pageMode, []byte(text)); err != nil {
			return fmt.Errorf("writing a manual page: %w", err)
		}
	}
	return nil
}

// Commands returns the pages of a command and its visible subcommands, by file name.
func (m Manual) Commands(root *cobra.Command) map[string]string {
	pages := map[string]string{}
	m.add(pages, root)
	return pages
}

func (m Manual) add(pages map[string]string, c *cobra.Command) {
	var subs []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() && sub.Name() != "completion" {
			subs = append(subs, sub)
			m.add(pages, sub)
		}
	}
	pages[pageName(c)+"."+strconv.Itoa(m.Section)] = m.command(c, subs)
}

// pageName returns the name of a command's page: waitcast-wait for waitcast wait.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// reference returns the name of a command's page in the form for SEE ALSO.
func (m Manual) reference(c *cobra.Command) string {
	return fmt.Sprintf("%s(%d)", pageName(c), m.Section)
}

func (m Manual) command(c *cobra.Command, subs []*cobra.Command) string {
	p := newPage(pageName(c), m.Section, m.Date, c.Short)
	p.heading("SYNOPSIS")
	use := c.Use
	if parent := c.Parent(); parent != nil {
		use = parent.CommandPath() + " " + use
	} else if len(subs) > 0 && !c.Runnable() {
		use += " COMMAND [OPTION...]"
	}
	for i, line := range strings.Split(use, " | "+c.Root().Name()+" ") {
		if i > 0 {
			p.line(".br")
			line = c.Root().Name() + " " + line
		}
		p.line(`.Nm ` + escape(line))
	}
	p.heading("DESCRIPTION")
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	p.text(long)
	if len(subs) > 0 {
		var list []Item
		for _, sub := range subs {
			list = append(list, Item{m.reference(sub), sub.Short + "."})
		}
		p.part(Part{Title: "COMMANDS", List: list})
	}
	c.InitDefaultHelpFlag()
	p.flags("OPTIONS", c.NonInheritedFlags())
	p.flags("OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	for _, part := range m.More {
		p.part(part)
	}
	if c.Example != "" {
		p.heading("EXAMPLES")
		p.literal(c.Example)
	}
	p.seeAlso(m.others(c, subs))
	return p.String()
}

// others returns the pages that are related to a command's page.
func (m Manual) others(c *cobra.Command, subs []*cobra.Command) []string {
	var pages []string
	if c.HasParent() {
		pages = append(pages, m.reference(c.Parent()))
	}
	for _, sub := range subs {
		pages = append(pages, m.reference(sub))
	}
	return append(pages, m.SeeAlso...)
}

// flags lists flags with their defaults, as --help does.
func (p *page) flags(title string, flags *pflag.FlagSet) {
	var list []Item
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		if name != "" {
			term += " " + name
		}
		text := sentence(usage)
		if d := f.DefValue; !strings.Contains(usage, "default") && d != "" && d != "false" && d != "0" &&
			d != "[]" && d != "0s" {
			text += " Default " + d + "."
		}
		list = append(list, Item{term, text})
	})
	if len(list) > 0 {
		p.part(Part{Title: title, List: list})
	}
}

// sentence capitalizes the first letter, unless that would change a name or a number, and adds a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, _, _ := strings.Cut(text, " ")
	if first == strings.ToLower(first) && !strings.ContainsAny(first, "-_=./$:") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// File returns a page that does not describe a command.
func (m Manual) File(name, short string, parts ...Part) string {
	p := newPage(name, m.Section, m.Date, short)
	for _, part := range parts {
		p.part(part)
	}
	p.seeAlso(m.SeeAlso)
	return p.String()
}
