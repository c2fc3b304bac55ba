package offline

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/markov"
)

// print writes the fitted model as text.
func (f *Fitted) print(to io.Writer) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(label, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", label, console.Printable(fmt.Sprintf(format, args...)))
	}
	row("Trace", "%s", f.Trace)
	row("Jobs", "%d; left out: %s; %d bad lines", f.Jobs, f.LeftOut, f.BadLines)
	load, _ := f.Load.beside(nil)
	row("Load", "%s", load)
	if f.Lublin != nil {
		f.Lublin.rows(row)
		row("  drawn jobs", "KS of sizes %.3f, of runtimes %.3f", f.Lublin.DrawnKS.ProcsKS, f.Lublin.DrawnKS.RuntimeKS)
		writeDrawnLoad(row, &f.Lublin.Drawn, &f.Load, f.Lublin.DrawnKS)
	}
	if f.Markov != nil {
		f.Markov.rows(row)
		writeDrawnLoad(row, &f.Markov.Drawn, &f.Load, distances{f.Markov.ProcsKS, f.Markov.RuntimeKS})
	}
	if len(f.UniformLog) > 0 {
		row("", "")
		row("Uniform-log", "Downey 1996: runtimes of each queue, cdf(t) = b0 + b1 ln t")
	}
	for _, q := range f.UniformLog {
		if q.Law == nil {
			row("  "+console.Printable(q.Queue), "%d jobs: %s", q.Jobs, q.Missing)
			continue
		}
		l := q.Law
		row("  "+console.Printable(q.Queue), "%d jobs: b0 %.3f, b1 %.3f, from %.3g s to %.3g s; R2 %.3f, %s", q.Jobs,
			l.B0, l.B1, l.TMin, l.TMax, l.R2, l.Goodness)
		if l.Goodness.KS > badFit {
			row("", "  warning: by KS %.2f from the recorded runtimes; the papers' own fits are within 0.09",
				l.Goodness.KS)
		}
	}
	if len(f.Lifetimes) > 0 {
		row("", "")
		row("Lifetimes",
			"laws of each queue's runtimes, by mean log score on jobs that they were not fitted to; the best first")
	}
	for _, q := range f.Lifetimes {
		q.rows(row)
	}
	for _, name := range []string{ModelLublin, ModelMarkov, modelUniformLog, modelLifetime} {
		if why, ok := f.Missing[name]; ok {
			row("Not fitted", "%s: %s", name, why)
		}
	}
	return t.Flush()
}

// writeDrawnLoad writes the load of the drawn jobs next to the load of the recorded jobs. It warns if the drawn jobs or
// their load differ much from the recorded ones.
func writeDrawnLoad(row func(label, format string, args ...any), drawn, recorded *offered, ks distances) {
	text, differ := drawn.beside(recorded)
	row("  drawn load", "%s", text)
	if bad := ks.bad(); bad != "" {
		row("", "warning: %s", bad)
	}
	if differ {
		row("", "warning: more than %.0f %% off; waitcast generate --load same scales the times between the jobs",
			100*otherLoad)
	}
}

// String describes the goodness of fit in one line.
func (g goodness) String() string {
	text := fmt.Sprintf("KS %.3f (significance %.2g)", g.KS, g.KSSignificance)
	if g.ChiClasses > 0 {
		text += fmt.Sprintf(", chi2 %.4g over %d classes (significance %.2g)", g.Chi2, g.ChiClasses, g.Chi2Signif)
	}
	return text
}

func gammaText(g hypergamma.Gamma) string {
	return fmt.Sprintf("Gamma(alpha %.4g, beta %.4g)", g.Shape, g.Scale)
}

func lawText(l hypergamma.Law) string {
	return fmt.Sprintf("%s with p %.3f, else %s", gammaText(l.First), l.P, gammaText(l.Second))
}

// rows writes the parameters of the model of Lublin and Feitelson.
func (l *LublinFit) rows(row func(label, format string, args ...any)) {
	size, runtime, arrival, work := &l.Fit.Size, &l.Fit.Runtime, &l.Fit.Arrival, &l.Fit.Work
	s := size.Params
	row("", "")
	row("Lublin-Feitelson", "2003")
	row("  sizes", "p1 %.3f, p2 %.3f, l %.2f, m %.2f, h %.2f, p %.3f; KS %.3f, %d jobs", s.Serial, s.PowerOfTwo, s.Low,
		s.Medium, s.High, s.Prob, size.KS, size.N)
	row("  ln runtime", "%s", lawText(runtime.Law))
	row("", "%s", l.Runtime)
	row("", "%d jobs; %d of at most 1 s left out; %.0f %% of subsamples of %d pass KS", runtime.N, runtime.Dropped,
		100*l.Subsamples.Passed, min(subsampleSize, runtime.N))
	row("  p by size", "%.4g s + %.4g; KS %.3f over all jobs", runtime.A, runtime.B, runtime.AllKS)
	row("  peak ln gap", "%s; KS %.3f, %d gaps; %d gaps of at most 1 s left out", gammaText(arrival.Peak),
		arrival.PeakKS, arrival.PeakN, l.ShortGaps)
	row("  arrivals", "ARAR %.4g, mean gap %.4g s, longest %.4g s", arrival.ARAR, arrival.MeanGap, arrival.Longest)
	row("  daily cycle", "%s; KS %.3f; as drawn, within the day: %s", gammaText(arrival.Daily), arrival.DailyKS,
		gammaText(arrival.Cycle))
	row("  ln work", "%s", lawText(work.Law))
	row("", "%s", l.Work)
}

// rows writes the properties of the Markov chains.
func (m *markovFit) rows(row func(label, format string, args ...any)) {
	c := m.Chains
	row("", "")
	row("Markov chains", "Song, Ernemann and Yahyapour 2004: cor0 %.3f, cor1 %.3f, %d jobs", c.Cor0, c.Cor1, c.Jobs)
	for _, chain := range []struct {
		name string
		*markov.Chain
	}{{"  sizes", &c.Procs}, {"  runtimes", &c.Runtime}} {
		row(chain.name, "%d states, %d to %d", len(chain.States), chain.States[0], chain.States[len(chain.States)-1])
	}
	row("  drawn jobs", "KS of sizes %.3f, of runtimes %.3f; squashed area %+.1f %%", m.ProcsKS, m.RuntimeKS,
		100*m.AreaDifference)
}

// rows writes the scores of the laws of lifetimes on a queue.
func (q *lifetimeFit) rows(row func(label, format string, args ...any)) {
	if q.Chosen == "" {
		row("  "+console.Printable(q.Queue), "%d jobs: %s", q.Jobs, q.Missing)
		return
	}
	row("  "+console.Printable(q.Queue), "%d jobs: %s, median %.3g s, 95 %% within %.3g s", q.Jobs, q.Chosen,
		q.Median, q.P95)
	for _, law := range q.Laws {
		if law.N == law.Failed {
			row("", "  %s: not fitted: %s", law.Name, law.Error)
			continue
		}
		row("", "  %s: %.4f over %d jobs, %d of them without a fit", law.Name, law.Mean, law.N, law.Failed)
	}
}
