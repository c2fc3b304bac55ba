// Package report writes the result of a backtest as a page for the administrator who decides whether to install
// waitcast. The page is one file without scripts that loads nothing. It shows names of files and queues, but no names
// of users or jobs. The same result gives the same bytes. Size and time depend on the number of queues and spans of
// time, which are bounded, and not on the number of jobs.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/backtest"
)

//go:embed page.html
var page string //nolint:gochecknoglobals // what go:embed needs; nothing writes it

// Options are data of a page besides the result.
type Options struct {
	// Version is the version of the program that made the page. If it is empty, it is left out.
	Version string
}

// fewJobs is the number of scored jobs below which a page warns that chance could explain its figures. It equals the
// default of coverage.Config.MonthJobs.
const fewJobs = 500

// Write writes the page.
func Write(to io.Writer, r *backtest.Result, o Options) error {
	t, err := template.New("page").Funcs(formats()).Parse(page)
	if err != nil {
		return err
	}
	v := view{Version: o.Version, Levels: levels()}
	for i := range r.Traces {
		section, err := newSection(&r.Traces[i], i+1)
		if err != nil {
			return fmt.Errorf("report of %s: %w", r.Traces[i].Trace, err)
		}
		v.Sections = append(v.Sections, section)
	}
	return t.Execute(to, v)
}

// view is the page in the form for the template.
type view struct {
	Version  string
	Levels   []level
	Sections []*section
}

// level is a level of the scored quantiles: its key in the result, and its value in per cent.
type level struct {
	Key     string
	Percent string
	share   float64
}

func levels() (out []level) {
	for _, p := range waittime.ScoredLevels() {
		out = append(out, level{backtest.LevelName(p), fmt.Sprintf("%g %%", 100*p), p})
	}
	return out
}

// section is the part of the page about one trace.
type section struct {
	*backtest.TraceResult
	ID     string
	Served *backtest.MethodResult
	QBETS  *backtest.MethodResult
	// None is true if there is no scored job, Few if there are too few to judge by.
	None, Few bool
	Warning   string
	Lead      []string
	Unknown   []string
	Read      fileTable
	Figures   figures
	// Compared are the comparisons that are meaningful for this log.
	Compared []backtest.Comparison
	// QueueTable and SizeTable are the figures by queue and by size class.
	QueueTable, SizeTable groupTable
}

// groupTable is a table of groups with readable names; Of is the kind of the groups.
type groupTable struct {
	Of   string
	Rows []groupRow
}

type groupRow struct {
	Name string
	*backtest.Group
}

func newGroupTable(of string, groups []backtest.Group, name func(backtest.Group) string) groupTable {
	t := groupTable{Of: of}
	for i := range groups {
		t.Rows = append(t.Rows, groupRow{name(groups[i]), &groups[i]})
	}
	return t
}

// figures are the plots of a section; those that are nil are left out.
type figures struct {
	Calibration, Times, Lengths, Queues, Sizes, Rivals, Learning *figure
}

func newSection(t *backtest.TraceResult, n int) (*section, error) {
	s := &section{TraceResult: t, ID: fmt.Sprintf("log%d", n), Served: t.Method(backtest.Waitcast),
		QBETS: t.Method("qbets"), Read: newFileTable(t.Files)}
	if t.DetailResult == nil || s.Served == nil || s.QBETS == nil {
		return nil, fmt.Errorf("the result has no details, or not the scores of %s and qbets", backtest.Waitcast)
	}
	for i := range t.Comparisons {
		if c := &t.Comparisons[i]; c.N > 0 && !s.meaningless(c.Method) {
			s.Compared = append(s.Compared, *c)
		}
	}
	s.None, s.Few = s.Served.N == 0, s.Served.N < fewJobs
	s.QueueTable, s.SizeTable = newGroupTable("queue", s.Queues, queueName), newGroupTable("size", s.Sizes, sizeName)
	s.Warning, s.Lead, s.Unknown = warning(s), lead(s), unknown(s)
	if s.None {
		return s, nil
	}
	for _, f := range [...]struct {
		to   **figure
		draw func(*section) (*figure, error)
	}{
		{&s.Figures.Calibration, calibrationFigure}, {&s.Figures.Times, timesFigure},
		{&s.Figures.Lengths, lengthsFigure}, {&s.Figures.Queues, queuesFigure}, {&s.Figures.Sizes, sizesFigure},
		{&s.Figures.Rivals, rivalsFigure}, {&s.Figures.Learning, learningFigure},
	} {
		drawn, err := f.draw(s)
		if err != nil {
			return nil, err
		}
		*f.to = drawn
	}
	return s, nil
}

// shownFiles is the maximum number of files that are listed one by one.
const shownFiles = 20

// fileTable lists the files that were read.
type fileTable struct {
	Shown                     []backtest.File
	More                      int
	Records, LeftOut, Notices int64
	Reasons                   []reasonCount
}

// reasonCount is the number of records that were left out for one reason.
type reasonCount struct {
	Reason string
	N      int64
}

func newFileTable(files []backtest.File) (t fileTable) {
	counts := map[string]int64{}
	for _, f := range files {
		t.Records, t.LeftOut, t.Notices = t.Records+f.Records, t.LeftOut+f.LeftOut, t.Notices+f.Notices
		for reason, n := range f.Reasons {
			counts[reason] += n
		}
	}
	t.Shown = files[:min(len(files), shownFiles)]
	t.More = len(files) - len(t.Shown)
	reasons := make([]string, 0, len(counts))
	for reason := range counts {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		t.Reasons = append(t.Reasons, reasonCount{reason, counts[reason]})
	}
	return t
}
