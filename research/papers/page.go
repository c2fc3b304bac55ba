// Package papers compares the figures of the five papers with the results of waitcast. It computes every table for
// which the traces are available. For each figure it checks the promised agreement, and states the reason for every
// deviation. It writes the comparison as a page.
//
// Results that take minutes (hundreds of simulations) are stored as CSV beside the page and computed again only on
// request. Everything else is computed every time. All random numbers have fixed seeds, so that the same traces give
// the same page.
package papers

import (
	"fmt"
	"io"
	"strings"
)

// Verdict says whether a figure keeps its promise.
type Verdict uint8

// These are the verdicts.
const (
	Reported Verdict = iota // there is no promise for the figure
	Met
	Missed
)

// String returns the verdict as it appears in a table.
func (v Verdict) String() string {
	switch v {
	case Met:
		return "met"
	case Missed:
		return "**MISSED**"
	}
	return ""
}

// Basis is the origin of the value that a figure must match.
type Basis uint8

// These are the bases of promises. A figure may have several.
const (
	Paper   Basis = 1 << iota // the value that the paper prints
	Program                   // the result of a program that was written independently
	Self                      // the result of this program in another way, or a bound that we set
)

// Standing is the degree to which a table of a paper is reproduced.
type Standing uint8

// These are the standings. Reproduced and UnderReading require that at least one promise about the paper's values is
// kept and none is missed.
const (
	Extra         Standing = iota // no table of a paper
	Reproduced                    // reproduced by the description in the paper
	UnderReading                  // reproduced under an interpretation that the table states
	InWords                       // the paper prints no numbers, and its description of the curves holds
	NotReproduced                 // the computation does not give the paper's numbers
)

// String returns the name of the standing.
func (s Standing) String() string {
	return [...]string{"beside the paper", "reproduced", "reproduced under a stated reading",
		"agrees in words, the paper prints no numbers", "not reproduced"}[s]
}

// Row is one figure: the value of waitcast, the value in the paper, and possibly the value of an independent program.
type Row struct {
	What, Ours, Paper, Independent string
	Promise                        string // the promise for our figure; empty if there is none
	Verdict                        Verdict
	Basis                          Basis
}

// Table is one table of the page.
type Table struct {
	Title   string
	Rows    []Row
	Reasons []string // paragraphs on deviations, and on how figures were obtained
	// Header and Cells are a table with other columns, such as a surface; empty if there is none.
	Header []string
	Cells  [][]string
	// Picture is the name of a file beside the page.
	Picture string
	// Standing is the standing that the table claims.
	Standing Standing
	// Chosen are readings that were chosen because they give the paper's figures, with the results of the other
	// readings.
	Chosen []string
}

// Section is one paper, or a part of one.
type Section struct {
	Title   string
	Intro   string
	Tables  []Table
	Missing []string // reasons why tables are missing
	Paper   string   // the paper that the section belongs to, as named in the overview
	// NotAttempted are parts of the paper that were not attempted, with the reason.
	NotAttempted []string
}

// note adds a figure without a promise.
func (t *Table) note(what, ours, paper, independent string) {
	t.Rows = append(t.Rows, Row{What: what, Ours: ours, Paper: paper, Independent: independent})
}

// promise adds a figure, and whether it keeps its promise.
func (t *Table) promise(basis Basis, what, ours, paper, independent, promised string, met bool) {
	v := Missed
	if met {
		v = Met
	}
	t.Rows = append(t.Rows, Row{what, ours, paper, independent, promised, v, basis})
}

// standing returns the table's standing. A missed promise against the paper lowers it.
func (t *Table) standing() Standing {
	if t.Standing == Reproduced || t.Standing == UnderReading {
		for _, r := range t.Rows {
			if r.Verdict == Missed && r.Basis&Paper != 0 {
				return NotReproduced
			}
		}
	}
	return t.Standing
}

// choose adds a reading that was chosen after the results were known.
func (t *Table) choose(format string, args ...any) {
	t.Chosen = append(t.Chosen, fmt.Sprintf(format, args...))
}

// because adds a paragraph to the reasons.
func (t *Table) because(format string, args ...any) {
	t.Reasons = append(t.Reasons, fmt.Sprintf(format, args...))
}

// Count is the number of promises that were kept and missed.
type Count struct{ Met, Missed int }

// Tally counts the promises of sections on any of the given bases.
func Tally(sections []Section, on Basis) (c Count) {
	for _, s := range sections {
		for _, t := range s.Tables {
			for _, r := range t.Rows {
				switch {
				case r.Basis&on == 0 || r.Verdict == Reported:
				case r.Verdict == Met:
					c.Met++
				default:
					c.Missed++
				}
			}
		}
	}
	return c
}

// Write writes the page as Markdown. command is the command that made it.
func Write(to io.Writer, command string, sections []Section) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The papers' tables beside ours\n\n<!-- Made by %s; do not edit. -->\n\n", command)
	fmt.Fprintf(&b, "Made by `%s`. Each table of the five papers that the traces at hand allow, beside what this "+
		"program gives. *Independent* are figures of a program that "+
		"was written separately from the same papers, on the same traces. *Promised* is the bound that ours are held "+
		"to; where none stands, the figure is reported only.\n\nThe page takes 14 s of one core. "+
		"`%s LONG=-long` also makes the runs of shaken logs anew, whose CSV files are beside it; that is not "+
		"measured as a whole, and of figure 6.1 in part (see there).\n", command, command)
	overview(&b, sections)
	b.WriteString("\n## Tallies\n\nA promise is one independent check; a figure that is held to the paper and to a " +
		"program " +
		"counts in both rows.\n\n| promises | met | missed |\n|---|---|---|\n")
	for _, on := range []struct {
		what  string
		basis Basis
	}{
		{"against the paper", Paper}, {"against an independent program", Program}, {"self-consistency", Self},
	} {
		c := Tally(sections, on.basis)
		line(&b, on.what, fmt.Sprint(c.Met), fmt.Sprint(c.Missed))
	}
	if Tally(sections, Paper|Program|Self).Missed > 0 {
		b.WriteString("\nMissed:\n\n")
		missedList(&b, sections)
	}
	for _, s := range sections {
		s.write(&b)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// overview writes how much of each paper is reproduced.
func overview(b *strings.Builder, sections []Section) {
	b.WriteString("\n## What is reproduced\n")
	var names []string
	of := map[string][]Section{}
	for _, s := range sections {
		if s.Paper == "" {
			continue
		}
		if _, ok := of[s.Paper]; !ok {
			names = append(names, s.Paper)
		}
		of[s.Paper] = append(of[s.Paper], s)
	}
	for _, name := range names {
		fmt.Fprintf(b, "\n**%s**\n\n", name)
		for _, standing := range []Standing{Reproduced, UnderReading, InWords, NotReproduced} {
			var titles []string
			for _, s := range of[name] {
				for i := range s.Tables {
					if s.Tables[i].standing() == standing {
						titles = append(titles, s.Tables[i].Title)
					}
				}
			}
			item(b, standing.String(), titles)
		}
		var absent, missing []string
		for _, s := range of[name] {
			absent, missing = append(absent, s.NotAttempted...), append(missing, s.Missing...)
		}
		item(b, "not attempted", absent)
		item(b, "data missing", missing)
	}
}

func item(b *strings.Builder, what string, titles []string) {
	if len(titles) > 0 {
		fmt.Fprintf(b, "- %s: %s\n", what, strings.Join(titles, "; "))
	}
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
	if t.Standing != Extra {
		standing := t.standing().String()
		fmt.Fprintf(b, "\n%s.\n", strings.ToUpper(standing[:1])+standing[1:])
	}
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
	for _, text := range t.Chosen {
		fmt.Fprintf(b, "\n**Chosen after the fact:** %s\n", text)
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
