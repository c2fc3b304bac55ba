package papers

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/waitcast/waitcast/workload/hypergamma"
)

// lublinCycles makes a table that shows how well a daily cycle is found again: it draws arrivals with a known cycle and
// fits the cycle to them.
func (d *Data) lublinCycles() (Table, error) {
	t := Table{Title: "The daily cycle, drawn and fitted again"}
	arrivals := hypergamma.ProgramAll(128).Arrival
	arrivals.Shift, arrivals.FirstSlot = 10, 1
	const jobs = 1_000_000
	a, rng := hypergamma.NewArrivals(arrivals), rand.New(rand.NewPCG(1, 1))
	local := make([]float64, jobs)
	for i := range local {
		local[i] = a.Next(rng)
	}
	f, err := hypergamma.FitArrivals(local, hypergamma.ArrivalOptions{})
	if err != nil {
		return t, err
	}
	want := arrivals.Daily
	t.note("by the plain fit, as Table 7 has it", gamma(f.Daily), "", gamma(want)+" (drawn)")
	t.promise(Self, "by the law's weights", gamma(f.Cycle), "", gamma(want)+" (drawn)", "alpha and mean within 5 %",
		math.Abs(f.Cycle.Shape/want.Shape-1) <= .05 && math.Abs(f.Cycle.Mean()/want.Mean()-1) <= .05)
	t.because("A Gamma law goes on beyond the day: the authors' has 2 %% of its weight before the first slot or "+
		"after the last. The weights of the slots leave that out, so that what is drawn spreads less than the law, "+
		"and a plain "+
		"fit finds %s where %s was drawn. A model fitted so to a log would lose a part of the cycle's width, and "+
		"again with each further fit of its own output. That was a bias of the fit, not of the generator. The "+
		"model's law is "+
		"now the one whose 48 weights are likeliest to give the half hours of the log; the plain fit is kept for "+
		"Table 7.", gamma(f.Daily), gamma(want))
	return t, nil
}

func gamma(g hypergamma.Gamma) string { return fmt.Sprintf("%.2f %.3f", g.Shape, g.Scale) }
