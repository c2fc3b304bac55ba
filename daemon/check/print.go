package check

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/waitcast/waitcast/internal/terminal"
)

// columns is the width of the report in characters.
const columns = 100

// Print writes the report as text: the checks, then the contents of the logs, then a summary.
func (r *Report) Print(w io.Writer) error {
	p := &printer{}
	about := ""
	for _, f := range r.Findings {
		if f.About != about {
			about = f.About
			p.line("")
			p.line("%s", strings.ToUpper(about[:1])+about[1:])
		}
		p.finding(&f)
	}
	for i := range r.Sources {
		p.source(&r.Sources[i])
	}
	for i := range r.Clusters {
		p.cluster(&r.Clusters[i])
	}
	p.line("")
	switch {
	case r.Failures > 0:
		p.line("%s failed, %s.", plural(r.Failures, "check"), plural(r.Warnings, "warning"))
	case r.Warnings > 0:
		p.line("Nothing failed, %s.", plural(r.Warnings, "warning"))
	default:
		p.line("All is well.")
	}
	_, err := io.WriteString(w, strings.TrimPrefix(p.String(), "\n"))
	return err
}

// printer writes lines. Each line stays one line even if names in it contain line ends.
type printer struct{ strings.Builder }

func (p *printer) line(format string, args ...any) {
	p.WriteString(terminal.Line(fmt.Sprintf(format, args...)) + "\n")
}

// wrapped writes text after a label. Further lines are indented to the beginning of the text.
func (p *printer) wrapped(label, text string) {
	const indent = 12
	for i, row := range wrap(text, columns-indent) {
		if i > 0 {
			label = ""
		}
		p.line("  %-*s%s", indent-2, label, row)
	}
}

func (p *printer) finding(f *Finding) {
	p.wrapped(string(f.Status), f.Text)
	if f.Hint != "" && f.Status != OK {
		p.wrapped("", "-> "+f.Hint)
	}
}

// source writes the results of reading a source.
func (p *printer) source(s *Source) {
	part := "the newest part of the log"
	if s.Whole {
		part = "all of it"
	}
	p.line("")
	p.line("Read from %s (%s), %s, in %.1f s", s.Name, s.Format, part, s.Seconds)
	lines := plural(s.Lines, "line")
	if s.BadLines > 0 {
		lines += fmt.Sprintf(", %d bad", s.BadLines)
	}
	p.wrapped("lines", lines)
	for _, b := range s.Bad {
		p.wrapped("", fmt.Sprintf("%d for reason %s, such as", b.Lines, b.Reason))
		for _, e := range b.Examples {
			place := e.Path
			if e.Line > 0 {
				place += fmt.Sprintf(":%d", e.Line)
			}
			if e.Field != "" {
				place += " field " + e.Field
			}
			p.wrapped("", "  "+strings.TrimSpace(place))
			p.line("              | %s", e.Shape)
		}
	}
	if s.Jobs == 0 {
		return
	}
	people := plural(s.Users, "user")
	if s.Accounts > 0 {
		people += ", " + plural(s.Accounts, "account")
	}
	p.wrapped("jobs", plural(s.Jobs, "job")+" of "+people)
	if s.Sizes != nil {
		p.wrapped("sizes", fmt.Sprintf("%s to %s processors, median %s", thousands(int64(s.Sizes.Min)),
			thousands(int64(s.Sizes.Max)), thousands(int64(s.Sizes.Median))))
	}
	if s.Oldest != nil && s.Newest != nil {
		p.wrapped("span", fmt.Sprintf("%s to %s UTC, %s", s.Oldest.Format(time.DateTime),
			s.Newest.Format(time.DateTime), spell(s.Newest.Sub(*s.Oldest))))
	}
	p.wrapped("limits", fmt.Sprintf("%.0f %% of the jobs have no time limit", 100*(1-s.Tells["time_limit"])))
	p.wrapped("queues", strings.Join(s.Queues, ", "))
}

// cluster writes the attributes and sources that are missing.
func (p *printer) cluster(c *Cluster) {
	if len(c.Unconfigured)+len(c.Missing)+len(c.Suggestions) == 0 || c.Jobs == 0 && len(c.Suggestions) == 0 {
		return
	}
	p.line("")
	p.line("What forecasts of cluster %s would be made from", c.Name)
	if len(c.Unconfigured) > 0 {
		p.wrapped("queues", "seen, but not configured: "+strings.Join(c.Unconfigured, ", "))
	}
	for _, m := range c.Missing {
		p.wrapped("missing",
			fmt.Sprintf("%s (%.0f %% of the jobs tell it): %s", strings.ReplaceAll(m.Attribute, "_", " "),
				100*m.Share, m.Loses))
	}
	for _, s := range c.Suggestions {
		p.wrapped("better", s)
	}
}

// wrap breaks text between words into rows of a width. The rows keep the indentation of the text.
func wrap(text string, width int) []string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var rows []string
	row := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case row == "":
			row = indent + word
		case len([]rune(row))+1+len([]rune(word)) <= width:
			row += " " + word
		default:
			rows, row = append(rows, row), indent+word
		}
	}
	return append(rows, row)
}
