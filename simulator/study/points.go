package study

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/workload/shake"
)

// PointColumns returns the header of the CSV that WritePoints writes.
func PointColumns() []string {
	columns := []string{"policy", "estimates", "load_asked", "load_offered", "saturated", "shaken_runs"}
	for _, measure := range []string{"mean_wait_seconds", "mean_bounded_slowdown"} {
		columns = append(columns, measure)
		for _, of := range []string{"shaken_mean", "shaken_p05", "shaken_p95", "span", "distance", "concentration"} {
			columns = append(columns, measure+"_"+of)
		}
	}
	return columns
}

// WritePoints writes a line of CSV for each group: the result of the trace itself, and the mean and the 5 % to 95 %
// range of its shaken copies. Numbers have six digits. Columns without a value are empty.
func WritePoints(to io.Writer, groups []Group) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	records := [][]string{PointColumns()}
	for i := range groups {
		g := &groups[i]
		runs, wait, bounded := 0, (*shake.Summary)(nil), (*shake.Summary)(nil)
		if g.Shaken != nil {
			wait, bounded = g.Shaken.Wait, g.Shaken.Bounded
		}
		for _, s := range []*shake.Summary{wait, bounded} {
			if s != nil {
				runs = s.Runs
			}
		}
		rec := []string{g.Policy, g.Estimates, number(g.Load), number(g.Offered), strconv.FormatBool(g.Saturated),
			strconv.Itoa(runs)}
		for _, m := range []struct {
			single float64
			shaken *shake.Summary
		}{{g.MeanWait, wait}, {g.Bounded, bounded}} {
			rec = append(rec, number(m.single))
			if m.shaken == nil {
				rec = append(rec, "", "", "", "", "", "")
				continue
			}
			for _, x := range []float64{
				m.shaken.Mean, m.shaken.Low, m.shaken.High, m.shaken.Span, m.shaken.Distance, m.shaken.Concentration,
			} {
				rec = append(rec, number(x))
			}
		}
		records = append(records, rec)
	}
	return writeRecords(to, records...)
}

// ReadPoints reads the output of WritePoints. For other input it returns an error that names the line.
func ReadPoints(from io.Reader) (groups []Group, err error) {
	rows, err := csv.NewReader(from).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || !slices.Equal(rows[0], PointColumns()) {
		return nil, errors.New("line 1: not the points of a study: another header")
	}
	for i, row := range rows[1:] {
		var failed error
		number := func(text string) float64 {
			x, err := strconv.ParseFloat(text, 64)
			failed = errors.Join(failed, err)
			return x
		}
		g := Group{Policy: row[0], Estimates: row[1], Load: number(row[2]), Offered: number(row[3]),
			Saturated: row[4] == "true"}
		runs := int(number(row[5]))
		summary := func(single float64, cells []string) *shake.Summary {
			if cells[0] == "" {
				return nil
			}
			return &shake.Summary{
				Original: single, Mean: number(cells[0]), Low: number(cells[1]), High: number(cells[2]),
				Span: number(cells[3]), Distance: number(cells[4]), Concentration: number(cells[5]), Runs: runs,
			}
		}
		g.MeanWait, g.Bounded = number(row[6]), number(row[13])
		if s := (Shaken{Wait: summary(g.MeanWait, row[7:13]),
			Bounded: summary(g.Bounded, row[14:20])}); s != (Shaken{}) {
			g.Shaken = &s
		}
		if failed != nil {
			return nil, fmt.Errorf("line %d: not the points of a study: %w", i+2, failed)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// Curve has the groups of one policy and one kind of estimates, by ascending load.
type Curve struct {
	Policy    string
	Estimates string
	Groups    []Group
}

// Curves sorts groups into curves over the load. The curves are in the order of their first groups.
func Curves(groups []Group) []Curve {
	var out []Curve
	for _, g := range groups {
		i := slices.IndexFunc(out, func(c Curve) bool { return c.Policy == g.Policy && c.Estimates == g.Estimates })
		if i < 0 {
			i = len(out)
			out = append(out, Curve{Policy: g.Policy, Estimates: g.Estimates})
		}
		out[i].Groups = append(out[i].Groups, g)
	}
	for _, c := range out {
		slices.SortStableFunc(c.Groups, func(a, b Group) int { return cmp.Compare(a.Offered, b.Offered) })
	}
	return out
}

// name returns a name that distinguishes the curve from the others.
func (c *Curve) name() string {
	return strings.TrimSuffix(c.Policy+", "+c.Estimates, ", limits")
}

// Single returns the mean bounded slowdown of the trace itself at each load.
func (c *Curve) Single() []float64 {
	out := make([]float64, len(c.Groups))
	for i := range out {
		out[i] = c.Groups[i].Bounded
	}
	return out
}

// Shaken returns the summary of the shaken copies' mean bounded slowdown at each load. ok is false if it is missing
// for a load.
func (c *Curve) Shaken() (out []shake.Summary, ok bool) {
	for _, g := range c.Groups {
		if g.Shaken == nil || g.Shaken.Bounded == nil {
			return nil, false
		}
		out = append(out, *g.Shaken.Bounded)
	}
	return out, len(out) > 0
}

// Roughness measures how much a curve over evenly spaced points jumps. It is the mean absolute second difference of
// the logarithm, |ln y(i+1) - 2 ln y(i) + ln y(i-1)|. It is 0 for a curve that grows by the same share at each step.
// A roughness of 0.1 means that the points differ by about a twentieth from the middle of their neighbors. It is 0
// for fewer than 3 points, and for values that are not positive, because they have no logarithm.
func Roughness(y []float64) float64 {
	if len(y) < 3 {
		return 0
	}
	sum := 0.0
	for i := 1; i+1 < len(y); i++ {
		d := math.Abs(math.Log(y[i+1]) - 2*math.Log(y[i]) + math.Log(y[i-1]))
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return 0
		}
		sum += d
	}
	return sum / float64(len(y)-2)
}

// String reports how much smoother the curve of the shaken copies is. It returns "" if there is no result.
func (c *Curve) String() string {
	shaken, ok := c.Shaken()
	if !ok || len(shaken) < 3 {
		return ""
	}
	single, means := Roughness(c.Single()), Roughness(Means(shaken))
	if single == 0 || means == 0 {
		return ""
	}
	return fmt.Sprintf("%s: from load to load the bounded slowdown of the trace itself jumps by %.2f %%, the mean of "+
		"%d shaken copies by %.2f %% (mean absolute second difference of ln)",
		c.name(), 100*single, shaken[0].Runs, 100*means)
}

// Means returns the means of summaries.
func Means(s []shake.Summary) []float64 {
	out := make([]float64, len(s))
	for i := range s {
		out[i] = s[i].Mean
	}
	return out
}
