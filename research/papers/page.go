// Package papers compares the figures of the five papers with the results of waitcast, and writes the comparison as a
// page. It computes every table for which the traces are available. It checks each figure for which agreement is
// promised, and states reasons for deviations.
//
// Results that take minutes, because they need hundreds of simulations, are stored as CSV files in a folder beside the
// page, and are computed again only on request. Everything else is computed every time. All random numbers have fixed
// seeds, so that the same traces give the same page.
package papers

import (
	"fmt"
	"io"
	"strings"
)

// Verdict is the result of checking the promise about a figure.
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

// Basis is the origin of the value with which a promise compares a figure.
type Basis uint8

// These are the bases of promises. A promise may have several.
const (
	Paper   Basis = 1 << iota // the value that the paper prints
	Program                   // the result of a program that was written independently
	Self                      // a result of this program that is computed in another way, or a bound of our own
)

// Standing says how far a table of a paper is reproduced.
type Standing uint8

// These are the standings. Reproduced and UnderReading require that at least one promise with the basis Paper is kept,
// and that none with this basis is missed.
const (
	Extra         Standing = iota // not a table of a paper
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

// Row is one figure: our value (of waitcast), the value in the paper, and the value of an independent program. The last
// two may be empty.
type Row struct {
	What, Ours, Paper, Independent string
	Promise                        string // the bound for our value; empty if there is none
	Verdict                        Verdict
	Basis                          Basis
}

// Table is one table of the page.
type Table struct {
	Title   string
	Rows    []Row
	Reasons []string // paragraphs on deviations, and on how figures were obtained
	// Header and Cells are a second table with other columns, for example a surface; empty if there is none.
	Header []string
	Cells  [][]string
	// Picture is the path, relative to the page, of a picture in the folder beside the page; empty if there is none.
	Picture string
	// Standing is the standing that the table claims (see standing).
	Standing Standing
	// Chosen describes readings of the paper that were chosen because they give its figures, with the results of the
	// other readings.
	Chosen []string
}

// Section is the part of the page about one paper, or about a part of it.
type Section struct {
	Title   string
	Intro   string
	Tables  []Table
	Missing []string // texts that say which tables are missing, and why
	Paper   string   // the paper whose tables these are, by its name in the overview
	// NotAttempted describes parts of the paper that were not attempted, with the reasons.
	NotAttempted []string
}

// note adds a figure without a promise.
func (t *Table) note(what, ours, paper, independent string) {
	t.Rows = append(t.Rows, Row{What: what, Ours: ours, Paper: paper, Independent: independent})
}

// promise adds a figure with a promise. promised is the bound as text, and met is true if the promise is kept.
func (t *Table) promise(basis Basis, what, ours, paper, independent, promised string, met bool) {
	v := Missed
	if met {
		v = Met
	}
	t.Rows = append(t.Rows, Row{what, ours, paper, independent, promised, v, basis})
}

// standing returns the standing of the table. It is NotReproduced, whatever the table claims, if a promise with the
// basis Paper is missed.
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

// choose adds a text to t.Chosen.
func (t *Table) choose(format string, args ...any) {
	t.Chosen = append(t.Chosen, fmt.Sprintf(format, args...))
}

// because adds a paragraph to t.Reasons.
func (t *Table) because(format string, args ...any) {
	t.Reasons = append(t.Reasons, fmt.Sprintf(format, args...))
}

// Count has the numbers of promises that are kept and missed.
type Count struct{ Met, Missed int }

// Tally counts the promises of the sections. Only promises with at least one of the given bases (the bits of on) count.
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

// Write writes the page in Markdown. command is the command that the page names as its origin.
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

// overview writes, for each paper, which tables are reproduced, which parts were not attempted, and which data are
// missing.
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
