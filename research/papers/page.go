// Package papers sets the figures of the five papers beside ours: it works out every table that the traces allow, with
// what was promised of each figure and the reason for every deviation, and writes them as a page.
//
// What takes minutes (hundreds of simulations) is kept as CSV beside the page and worked out again only where asked
// for; all else is worked out every time. Everything random is seeded: the same traces give the same page.
package papers

import (
	"fmt"
	"io"
	"strings"
)

// Verdict is whether a figure holds what was promised of it.
type Verdict uint8

// The verdicts.
const (
	Reported Verdict = iota // nothing was promised
	Met
	Missed
)

// String returns the verdict as it stands in a table.
func (v Verdict) String() string {
	switch v {
	case Met:
		return "met"
	case Missed:
		return "**MISSED**"
	}
	return ""
}

// Row is one figure: ours, the paper's and, where there is one, that of an independent program.
type Row struct {
	What, Ours, Paper, Independent string
	Promise                        string // what was promised of ours; empty for nothing
	Verdict                        Verdict
}

// Table is one table of the page.
type Table struct {
	Title   string
	Rows    []Row
	Reasons []string // for its deviations, and how figures were found, as paragraphs
	// Header and Cells are a table of other columns, such as a surface; empty for none.
	Header []string
	Cells  [][]string
	// Picture is a file beside the page.
	Picture string
}

// Section is one paper, or a part of one.
type Section struct {
	Title   string
	Intro   string
	Tables  []Table
	Missing []string // why tables are not there
}

// note adds a figure of which nothing was promised.
func (t *Table) note(what, ours, paper, independent string) {
	t.Rows = append(t.Rows, Row{What: what, Ours: ours, Paper: paper, Independent: independent})
}

// promise adds a figure and whether it holds what was promised.
func (t *Table) promise(what, ours, paper, independent, promised string, met bool) {
	v := Missed
	if met {
		v = Met
	}
	t.Rows = append(t.Rows, Row{what, ours, paper, independent, promised, v})
}

// because adds a paragraph to the reasons.
func (t *Table) because(format string, args ...any) {
	t.Reasons = append(t.Reasons, fmt.Sprintf(format, args...))
}

// Tally counts the figures of sections of which something was promised.
func Tally(sections []Section) (met, missed int) {
	for _, s := range sections {
		for _, t := range s.Tables {
			for _, r := range t.Rows {
				switch r.Verdict {
				case Met:
					met++
				case Missed:
					missed++
				case Reported:
				}
			}
		}
	}
	return met, missed
}

// Write writes the page as Markdown; command is how it was made.
func Write(to io.Writer, command string, sections []Section) error {
	var b strings.Builder
	met, missed := Tally(sections)
	fmt.Fprintf(&b, "# The papers' tables beside ours\n\n<!-- Made by %s; do not edit. -->\n\n", command)
	fmt.Fprintf(&b, "Made by `%s`. Each table of the five papers that the traces at hand allow, beside what this "+
		"program gives. *Independent* are figures of a program that "+
		"was written separately from the same papers, on the same traces. *Promised* is the bound that ours are held "+
		"to; where none stands, the figure is reported only.\n\n", command)
	fmt.Fprintf(&b, "Of %d promised figures %d are met and %d missed", met+missed, met, missed)
	if missed == 0 {
		b.WriteString(".\n")
	} else {
		b.WriteString(":\n\n")
		missedList(&b, sections)
	}
	for _, s := range sections {
		s.write(&b)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

func missedList(b *strings.Builder, sections []Section) {
	for _, s := range sections {
		for _, t := range s.Tables {
			for _, r := range t.Rows {
				if r.Verdict == Missed {
					fmt.Fprintf(b, "- %s, %s: %s, promised %s\n", t.Title, r.What, r.Ours, r.Promise)
				}
			}
		}
	}
}

func (s *Section) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n", s.Title)
	if s.Intro != "" {
		fmt.Fprintf(b, "\n%s\n", s.Intro)
	}
	for _, m := range s.Missing {
		fmt.Fprintf(b, "\n**Missing:** %s.\n", m)
	}
	for i := range s.Tables {
		s.Tables[i].write(b)
	}
}

func (t *Table) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n", t.Title)
	if len(t.Rows) > 0 {
		b.WriteString("\n| figure | ours | paper | independent | promised | |\n|---|---|---|---|---|---|\n")
		for _, r := range t.Rows {
			line(b, r.What, r.Ours, r.Paper, r.Independent, r.Promise, r.Verdict.String())
		}
	}
	if len(t.Header) > 0 {
		b.WriteString("\n")
		line(b, t.Header...)
		b.WriteString("|" + strings.Repeat("---|", len(t.Header)) + "\n")
		for _, cells := range t.Cells {
			line(b, cells...)
		}
	}
	if t.Picture != "" {
		fmt.Fprintf(b, "\n![%s](%s)\n", t.Title, t.Picture)
	}
	for _, text := range t.Reasons {
		fmt.Fprintf(b, "\n%s\n", text)
	}
}

func line(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", "\\|") + " ")
	}
	b.WriteString("|\n")
}
