package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/backtest"
)

// row is one line of a rowsPlot: its name stands at the vertical axis, and bars and marks are drawn beside it.
type row struct {
	name  string
	bars  []bar
	marks []mark
}

type bar struct {
	from, to float64
	ink      ink
	wide     bool // a band on which other bars are drawn
}

type mark struct {
	at    float64
	ink   ink
	shape draw.GlyphDrawer
}

// rowHeight is the height of a row. rowsMargin is the height of the axis.
const (
	rowHeight  = 7 * vg.Millimeter
	rowsMargin = 14 * vg.Millimeter
)

// rowsPlot draws rows from the top down.
type rowsPlot struct {
	rows  []row
	ticks []plot.Tick
	label string
	min   float64
	max   float64
	refs  []float64 // vertical lines
}

func (r *rowsPlot) figure(f figure) (*figure, error) {
	p := newPlot()
	p.X.Label.Text, p.X.Tick.Marker, p.X.Min, p.X.Max = r.label, plot.ConstantTicks(r.ticks), r.min, r.max
	p.Y.Min, p.Y.Max = -float64(len(r.rows))+.4, .6
	var names []plot.Tick
	for i, row := range r.rows {
		names = append(names, plot.Tick{Value: -float64(i), Label: shorten(row.name)})
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.LineStyle.Width = plot.ConstantTicks(names), 0, 0
	if err := addGrid(p, r.ticks, r.refs, true); err != nil {
		return nil, err
	}
	for i, row := range r.rows {
		if err := row.addTo(p, -float64(i)); err != nil {
			return nil, err
		}
	}
	return drawPlot(p, rowsMargin+rowHeight*vg.Length(len(r.rows)), f)
}

// addGrid draws a line at each tick with a label, and a darker line at each reference.
func addGrid(p *plot.Plot, ticks []plot.Tick, refs []float64, vertical bool) error {
	add := func(at float64, ink ink) error {
		ends := plotter.XYs{{X: p.X.Min, Y: at}, {X: p.X.Max, Y: at}}
		if vertical {
			ends = plotter.XYs{{X: at, Y: p.Y.Min}, {X: at, Y: p.Y.Max}}
		}
		return addLine(p, ends, ink, .6)
	}
	for _, t := range ticks {
		if t.Label == "" {
			continue
		}
		if err := add(t.Value, gridline); err != nil {
			return err
		}
	}
	for _, at := range refs {
		if err := add(at, text); err != nil {
			return err
		}
	}
	return nil
}

func addLine(p *plot.Plot, points plotter.XYs, ink ink, points1 float64) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = ink.color(), vg.Points(points1)
	p.Add(line)
	return nil
}

func (r *row) addTo(p *plot.Plot, y float64) error {
	for _, b := range r.bars {
		wide := 2.2
		if b.wide {
			wide = 12
		}
		if err := addLine(p, plotter.XYs{{X: b.from, Y: y}, {X: b.to, Y: y}}, b.ink, wide); err != nil {
			return err
		}
	}
	for _, m := range r.marks {
		dot, err := plotter.NewScatter(plotter.XYs{{X: m.at, Y: y}})
		if err != nil {
			return err
		}
		dot.Color, dot.Shape, dot.Radius = m.ink.color(), m.shape, vg.Points(4)
		p.Add(dot)
	}
	return nil
}

// shorten cuts a name that would leave no room for the plot.
func shorten(name string) string {
	const most = 30
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}

// timeTicks returns the marks of an axis of waits on the scale ln(wait + 60 s). They end with the first one of at least
// most seconds, or at 448 days.
func timeTicks(most float64) (ticks []plot.Tick) {
	for _, s := range [...]float64{0, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400, 28 * 86400,
		112 * 86400, 448 * 86400} {
		ticks = append(ticks, plot.Tick{Value: waittime.Log(s), Label: seconds(s)})
		if s >= most {
			break
		}
	}
	return ticks
}

// timeAxis makes the horizontal axis an axis of waits, from 0 to the last mark of timeTicks.
func (r *rowsPlot) timeAxis(most float64) {
	r.ticks = timeTicks(most)
	r.min, r.max = r.ticks[0].Value-.05, r.ticks[len(r.ticks)-1].Value
}

// calibrationFigure shows, by level, the promised, the allowed and the covered shares.
func calibrationFigure(s *section) (*figure, error) {
	r := rowsPlot{label: "of 100 jobs, so many started within the bound", min: 0, max: 100}
	for v := 0.; v <= 100; v += 10 {
		r.ticks = append(r.ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	description := ""
	for _, l := range levels() {
		whole, long := s.Served.Calibration.Whole[l.Key].Interval, s.Served.Calibration.Long[l.Key].Interval
		covered, promised := s.Served.Coverage[l.Key], 100*l.share
		allowed := bar{promised - 2, promised + 2, band, true}
		r.rows = append(r.rows, row{"promised " + l.Percent, []bar{allowed, interval(whole)}, ends(covered)})
		description += fmt.Sprintf("Promised %s, covered %s, at the log's resolution %s. ", l.Percent,
			coveredRange(covered), coveredRange(whole))
		if s.longJobs() {
			r.rows = append(r.rows, row{"over 1 min", []bar{allowed, interval(long)}, ends(long)})
		}
	}
	return r.figure(figure{ID: s.ID + "-calibration", Title: "Promised and covered", Description: description,
		Legend: []legendEntry{{"band", "■", "allowed: 2 in 100 on either side"},
			{"served", "●", "of all jobs, and of those with a forecast over 1 min"},
			{"served", "━", "the range to the steps of the log: it must touch what is allowed"}}})
}

// longJobs reports whether any job's median forecast was longer than a minute. If there was none, the interval is [0,
// 1].
func (s *section) longJobs() bool {
	return s.Served.Calibration.Long["0.5"].Interval != [2]float64{0, 1}
}

func interval(c [2]float64) bar { return bar{100 * c[0], 100 * c[1], served, false} }

func ends(c [2]float64) []mark {
	out := []mark{{100 * c[0], served, draw.CircleGlyph{}}}
	if c[1]-c[0] > .01 {
		out = append(out, mark{100 * c[1], served, draw.CircleGlyph{}})
	}
	return out
}

// queuesFigure and sizesFigure show typical errors beside typical waits.
func queuesFigure(s *section) (*figure, error) {
	if len(s.Queues) < 2 {
		return nil, nil // the table is enough
	}
	return errorsFigure(s.Queues, queueName, figure{ID: s.ID + "-queues", Title: "Typical error by queue"})
}

func sizesFigure(s *section) (*figure, error) {
	if len(s.Sizes) < 2 {
		return nil, nil
	}
	return errorsFigure(s.Sizes, sizeName, figure{ID: s.ID + "-sizes", Title: "Typical error by size"})
}

func errorsFigure(groups []backtest.Group, name func(backtest.Group) string, f figure) (*figure, error) {
	r := rowsPlot{label: "time"}
	most := 60.
	for _, g := range groups {
		wait := mark{waittime.Log(g.Wait[1]), fact, draw.CrossGlyph{}}
		row := row{name: name(g), marks: []mark{wait}}
		most = math.Max(most, g.Wait[1])
		if v := g.QBETSAbsError; v != nil {
			row.marks = append(row.marks, mark{waittime.Log(*v), other, draw.RingGlyph{}})
			most = math.Max(most, *v)
		}
		if v := g.MedianAbsError; v != nil {
			row.marks = append(row.marks, mark{waittime.Log(*v), served, draw.CircleGlyph{}})
			most = math.Max(most, *v)
		}
		r.rows = append(r.rows, row)
		f.Description += fmt.Sprintf("%s: median error %s, of QBETS %s, median wait %s. ", row.name,
			secondsOr(g.MedianAbsError), secondsOr(g.QBETSAbsError), seconds(g.Wait[1]))
	}
	r.timeAxis(most)
	f.Legend = []legendEntry{{"served", "●", "median error of waitcast"}, {"other", "○", "median error of QBETS"},
		{"fact", "✕", "median wait"}}
	return r.figure(f)
}

// lengthsFigure shows the waits of jobs by the length of their forecasts.
func lengthsFigure(s *section) (*figure, error) {
	r, most := rowsPlot{label: "what the jobs waited"}, 60.
	f := figure{ID: s.ID + "-lengths", Title: "What it gave, and what happened"}
	for _, g := range s.Lengths {
		most = math.Max(most, math.Max(g.Wait[2], g.From))
	}
	r.timeAxis(most)
	for _, g := range s.Lengths {
		to := r.max
		if g.To > 0 {
			to = math.Min(waittime.Log(g.To), r.max)
		}
		low, middle, high := waittime.Log(g.Wait[0]), waittime.Log(g.Wait[1]), waittime.Log(g.Wait[2])
		r.rows = append(r.rows, row{lengthName(g),
			[]bar{{waittime.Log(g.From), to, band, true}, {low, high, served, false}},
			[]mark{{middle, served, draw.CircleGlyph{}}}})
		f.Description += fmt.Sprintf("Forecast %s: half waited up to %s, 80 of 100 between %s and %s. ", lengthName(g),
			seconds(g.Wait[1]), seconds(g.Wait[0]), seconds(g.Wait[2]))
	}
	f.Legend = []legendEntry{{"band", "■", "the median that was forecast lay here"},
		{"served", "●", "median wait; the line has 80 of 100 jobs"}}
	return r.figure(f)
}

// rivalsFigure shows the loss of waitcast in per cent of the loss of each other method. It leaves out losses of more
// than 400 %, and returns nil if nothing is left.
func rivalsFigure(s *section) (*figure, error) {
	r := rowsPlot{label: "loss of waitcast, the other method's being 100", refs: []float64{100}}
	f := figure{ID: s.ID + "-rivals", Title: "Loss against other methods"}
	most := 110.
	for _, c := range s.Compared {
		for _, l := range [...]level{levels()[0], levels()[len(levels())-1]} {
			ratio, ok := c.Levels[l.Key]
			if !ok || ratio.Ratio == nil || *ratio.Ratio > 4 {
				continue
			}
			line := row{name: methodName(c.Method) + ", " + l.Percent,
				marks: []mark{{100 * *ratio.Ratio, served, draw.CircleGlyph{}}}}
			if ratio.Chance != nil {
				line.bars = []bar{{100 * ratio.Chance[0], 100 * math.Min(ratio.Chance[1], 4), served, false}}
				most = math.Max(most, 100*math.Min(ratio.Chance[1], 4))
			}
			most = math.Max(most, 100**ratio.Ratio)
			r.rows = append(r.rows, line)
			f.Description += fmt.Sprintf("Against %s: %.0f (%s). ", line.name, 100**ratio.Ratio, chance(ratio.Chance))
		}
	}
	if len(r.rows) == 0 {
		return nil, nil
	}
	r.max = 20 * math.Ceil(most/20)
	step := 20 * math.Ceil(r.max/200)
	for v := 0.; v <= r.max; v += step {
		r.ticks = append(r.ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	f.Legend = []legendEntry{{"served", "●", "below 100 waitcast was better; the line is the 95 % interval of chance"}}
	return r.figure(f)
}

// learningFigure shows the loss from the first job on.
func learningFigure(s *section) (*figure, error) {
	r := rowsPlot{label: "loss of the median"}
	f := figure{ID: s.ID + "-learning", Title: "How quickly it learnt"}
	most := 0.
	for _, step := range s.Learning {
		line := row{name: fmt.Sprintf("jobs %s to %s", count(step.From), count(step.To))}
		if step.QBETS.N > 0 {
			v := step.QBETS.LogPinball["0.5"]
			line.marks = append(line.marks, mark{v, other, draw.RingGlyph{}})
			most = math.Max(most, v)
		}
		if step.Served.N > 0 {
			v := step.Served.LogPinball["0.5"]
			line.marks = append(line.marks, mark{v, served, draw.CircleGlyph{}})
			most = math.Max(most, v)
			f.Description += fmt.Sprintf("%s: waitcast %s, QBETS %s. ", line.name, loss(v),
				loss(step.QBETS.LogPinball["0.5"]))
		}
		r.rows = append(r.rows, line)
	}
	r.max = math.Max(.2, math.Ceil(5*most)/5)
	step := .2 * math.Ceil(r.max/2)
	for i := 0.; i*step <= r.max+1e-9; i++ {
		r.ticks = append(r.ticks, plot.Tick{Value: i * step, Label: fmt.Sprintf("%.1f", i*step)})
	}
	f.Legend = []legendEntry{{"served", "●", "waitcast"}, {"other", "○", "QBETS"}}
	return r.figure(f)
}

// timesFigure shows forecasts beside waits over time.
func timesFigure(s *section) (*figure, error) {
	f := figure{ID: s.ID + "-times", Title: "Forecasts and waits over time", Description: timesDescription(s),
		Legend: []legendEntry{{"band", "■", "80 of 100 waits"}, {"fact", "━", "median wait"},
			{"served", "━", "median of the medians that were forecast"}}}
	p := newPlot()
	first, last := s.Times[0].From, s.Times[len(s.Times)-1].To
	p.X.Min, p.X.Max = first, last
	most := 60.
	for _, g := range s.Times {
		most = math.Max(most, math.Max(g.Wait[2], g.Forecast[0]))
	}
	ticks := timeTicks(most)
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = ticks[0].Value-.05, ticks[len(ticks)-1].Value, plot.ConstantTicks(ticks)
	p.X.Tick.Marker = plot.ConstantTicks(dateTicks(s.Period, first, last))
	p.Y.Label.Text = "wait"
	for _, g := range s.Times {
		box, err := plotter.NewPolygon(plotter.XYs{{X: g.From, Y: waittime.Log(g.Wait[0])},
			{X: g.To, Y: waittime.Log(g.Wait[0])}, {X: g.To, Y: waittime.Log(g.Wait[2])},
			{X: g.From, Y: waittime.Log(g.Wait[2])}})
		if err != nil {
			return nil, err
		}
		box.Color, box.Width = band.color(), 0
		p.Add(box)
	}
	if err := addGrid(p, ticks, nil, false); err != nil {
		return nil, err
	}
	for _, line := range [...]struct {
		ink ink
		of  func(backtest.Group) float64
	}{{fact, func(g backtest.Group) float64 { return g.Wait[1] }},
		{served, func(g backtest.Group) float64 { return g.Forecast[0] }}} {
		var points plotter.XYs
		for _, g := range s.Times {
			points = append(points, plotter.XY{X: (g.From + g.To) / 2, Y: waittime.Log(line.of(g))})
		}
		if len(points) == 1 { // a single point becomes a line over the whole width
			points = plotter.XYs{{X: first, Y: points[0].Y}, {X: last, Y: points[0].Y}}
		}
		if err := addLine(p, points, line.ink, 1.1); err != nil {
			return nil, err
		}
	}
	return drawPlot(p, 80*vg.Millimeter, f)
}

func timesDescription(s *section) string {
	low, high := s.Times[0], s.Times[0]
	for _, g := range s.Times {
		if g.Wait[1] < low.Wait[1] {
			low = g
		}
		if g.Wait[1] > high.Wait[1] {
			high = g
		}
	}
	return fmt.Sprintf("From %s to %s, %d spans. The median wait was shortest on %s, %s where %s was forecast, and "+
		"longest on %s, %s where %s was forecast. The table by month follows.", dayOf(s.Period, s.Times[0].From),
		dayOf(s.Period, s.Times[len(s.Times)-1].From), len(s.Times), dayOf(s.Period, low.From), seconds(low.Wait[1]),
		seconds(low.Forecast[0]), dayOf(s.Period, high.From), seconds(high.Wait[1]), seconds(high.Forecast[0]))
}

// dateTicks marks at most seven instants. They are beginnings of months if the trace has dates and lasts 60 days or
// more. Otherwise they are a whole number of days apart, from first on.
func dateTicks(p backtest.Period, first, last float64) (ticks []plot.Tick) {
	const most = 7
	if !p.Dated || last-first < 60*86400 {
		step := math.Max(1, math.Ceil((last-first)/86400/most)) * 86400
		for at := first; at < last; at += step {
			ticks = append(ticks, plot.Tick{Value: at, Label: dayOf(p, at)})
		}
		return ticks
	}
	months := slices.Collect(monthsBetween(first, last))
	step := int(math.Ceil(float64(len(months)) / most))
	for i := 0; i < len(months); i += step {
		ticks = append(ticks, plot.Tick{Value: float64(months[i].Unix()), Label: months[i].Format("2006-01")})
	}
	return ticks
}

// monthsBetween returns the beginnings of months in UTC, from first on and before last (both in Unix seconds).
func monthsBetween(first, last float64) func(func(time.Time) bool) {
	at := time.Unix(int64(first), 0).UTC()
	at = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	return func(yield func(time.Time) bool) {
		for ; float64(at.Unix()) < last; at = at.AddDate(0, 1, 0) {
			if float64(at.Unix()) >= first && !yield(at) {
				return
			}
		}
	}
}
