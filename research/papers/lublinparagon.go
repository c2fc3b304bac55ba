package papers

import (
	"fmt"
	"math"

	"github.com/waitcast/waitcast/workload/compare"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

// lublinParagon makes a table for the row SDSC96 in the tables of Lublin and Feitelson, with the same bounds as for the
// row KTH.
func (d *Data) lublinParagon() (Table, error) {
	t := Table{Title: "Tables 1, 2, 3, 5, 6 and 7: the row SDSC96", Standing: UnderReading}
	l, err := d.log(paragon)
	if err != nil {
		return t, err
	}
	j := l.columns(completed)
	const procs = 400
	f, err := hypergamma.FitModel(j, procs, hypergamma.ArrivalOptions{Weekdays: true})
	if err != nil {
		return t, err
	}
	r, err := compare.Correlation(floats(j.Procs), j.Seconds)
	if err != nil {
		return t, err
	}
	s := f.Size.Params
	two := func(a, b float64) string { return fmt.Sprintf("%.4g %.4g", a, b) }
	t.note("1: jobs", fmt.Sprint(f.Size.N), "not printed", "")
	t.note("1: p1, share of serial jobs", number(s.Serial, 3), ".21", "")
	t.promise(Paper, "1: p2, share of powers of two among the parallel", number(s.PowerOfTwo, 3), ".89", "",
		"within .01", math.Abs(s.PowerOfTwo-.89) <= .01)
	t.note("1: l, m, h, p", fmt.Sprintf("%.2f %.2f %.2f "+
		"%.2f", s.Low, s.Medium, s.High, s.Prob), "1.00 5.00 7.00 .86", "")
	t.note("1: D of the parallel sizes", number(f.Size.KS, 3), ".038", "")
	t.note("2: alpha1 beta1", two(f.Runtime.First.Shape, f.Runtime.First.Scale), "4.15 .96", "")
	t.note("2: alpha2 beta2", two(f.Runtime.Second.Shape, f.Runtime.Second.Scale), "569.7 .018", "")
	t.note("2: p", number(f.Runtime.P, 3), ".70", "")
	t.promise(Paper, "2: D", number(f.Runtime.KS, 3), ".035", "", "at most .01 above", f.Runtime.KS <= .045)
	t.note("3: alpha1 beta1", two(f.Work.First.Shape, f.Work.First.Scale), "5.12 1.09", "")
	t.note("3: alpha2 beta2", two(f.Work.Second.Shape, f.Work.Second.Scale), "120.0 .10", "")
	t.note("3: p, D", fmt.Sprintf("%.3f, %.3f", f.Work.P, f.Work.KS), ".71, .026", "")
	t.note("5: a b, D over all jobs", fmt.Sprintf("%.4f %.3f, %.3f", f.Runtime.A, f.Runtime.B, f.Runtime.AllKS),
		"-.0107 .900, .056", "")
	t.note("6.1: correlation of sizes and runtimes", number(r, 3), ".40", "")
	peak := 7.13 * .70
	t.promise(Paper, "6: mean of ln interarrival", number(f.Arrival.Peak.Mean(), 3), number(peak, 3), "", "within 2 %",
		math.Abs(f.Arrival.Peak.Mean()/peak-1) <= .02)
	t.note("6: alpha beta, D", two(f.Arrival.Peak.Shape, f.Arrival.Peak.Scale)+", "+number(f.Arrival.PeakKS, 3),
		"7.13 .70, .072", "")
	t.promise(Paper, "7: alpha", number(f.Arrival.Daily.Shape, 2), "6.84", "", "within 8 %",
		math.Abs(f.Arrival.Daily.Shape/6.84-1) <= .08)
	slot := 6.84 * 4.77
	t.promise(Paper, "7: mean slot", number(f.Arrival.Daily.Mean(), 2), number(slot, 2), "", "within 2 %",
		math.Abs(f.Arrival.Daily.Mean()/slot-1) <= .02)
	t.note("7: D", number(f.Arrival.DailyKS, 3), ".050", "")
	t.because("The bounds are those of the row KTH, set before this row was worked out; jobs are the completed ones " +
		"of " +
		"SDSC-Par-1996-3.1-cln, with its 400 processors and without regard to the peak of a script at 3:30, which " +
		"the " +
		"paper removes. The archive has cleaned the log since.")
	return t, nil
}
