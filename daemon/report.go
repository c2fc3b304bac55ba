package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/readmodel"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/terminal"
)

// Report is the output of --one-shot: the state at the end of the logs, and the models that were fitted to the logs.
// There is one report for each cluster.
type Report struct {
	Cluster string `json:"cluster"`
	// Jobs is the number of submissions.
	Jobs          int64          `json:"jobs"`
	AsOf          time.Time      `json:"as_of"`
	CapacityProcs int            `json:"capacity_procs"`
	RunningJobs   int            `json:"running_jobs"`
	QueuedJobs    int            `json:"queued_jobs"`
	Lines         int64          `json:"lines"`
	BadLines      int64          `json:"bad_lines"`
	Counts        cluster.Counts `json:"events"`
	Queues        []QueueReport  `json:"queues"`
}

// QueueReport describes one queue's models.
type QueueReport struct {
	Name    string        `json:"name"`
	Classes []ClassReport `json:"classes"`
	Markov  MarkovReport  `json:"markov"`
}

// ClassReport is a uniform-log fit. The figures are null if there are too few lifetimes.
type ClassReport struct {
	Class       string   `json:"class"`
	N           int      `json:"n"`
	B0          *float64 `json:"b0"`
	B1          *float64 `json:"b1"`
	R2          *float64 `json:"r2"`
	KS          *float64 `json:"ks"`
	TMinSeconds *float64 `json:"tmin_seconds"`
	TMaxSeconds *float64 `json:"tmax_seconds"`
}

// MarkovReport has the dimensions of the two Markov chains of Song's model, and their correlations.
type MarkovReport struct {
	RuntimeStates int     `json:"runtime_states"`
	ProcsStates   int     `json:"procs_states"`
	Cor0          float64 `json:"cor0"`
	Cor1          float64 `json:"cor1"`
}

func report(v *readmodel.View) Report {
	r := Report{
		Cluster: v.Cluster, Jobs: v.Counts.Submitted, AsOf: v.At, CapacityProcs: v.Capacity,
		RunningJobs: len(v.Running), QueuedJobs: len(v.Queued), Counts: v.Counts, Queues: []QueueReport{},
	}
	for _, name := range v.Models.Queues() {
		q := QueueReport{Name: name}
		models := v.Models.Queue(name)
		for i := range models.Lifetimes {
			q.Classes = append(q.Classes, classReport(livemodels.Classes()[i], &models.Lifetimes[i]))
		}
		q.Markov = MarkovReport{
			RuntimeStates: len(models.Chains.Runtime.States), ProcsStates: len(models.Chains.Procs.States),
			Cor0: finite(models.Chains.Cor0), Cor1: finite(models.Chains.Cor1),
		}
		r.Queues = append(r.Queues, q)
	}
	return r
}

func classReport(class string, l *livemodels.LifetimeView) ClassReport {
	c := ClassReport{Class: class, N: l.Sample.N()}
	if l.Err != nil {
		return c
	}
	ks, tmin, tmax := l.Sample.KS(l.Law.Model), l.Law.TMin(), l.Law.TMax()
	c.B0, c.B1, c.R2, c.KS, c.TMinSeconds, c.TMaxSeconds = &l.Law.B0, &l.Law.B1, &l.Law.R2, &ks, &tmin, &tmax
	return c
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// PrintJSON writes the reports: one object for one cluster, a list for several clusters.
func PrintJSON(w io.Writer, reports []Report) error {
	enc := json.NewEncoder(terminal.NewJSONWriter(w))
	enc.SetIndent("", "  ")
	if len(reports) == 1 {
		return enc.Encode(reports[0])
	}
	return enc.Encode(reports)
}

// PrintText writes the reports as text.
func PrintText(w io.Writer, reports []Report) error {
	w = terminal.NewWriter(w)
	for _, r := range reports {
		fmt.Fprintf(w, "cluster %s: %d jobs, %d running and %d queued at %s, %d processors; %d lines, %d bad\n\n",
			terminal.Line(r.Cluster), r.Jobs, r.RunningJobs, r.QueuedJobs, r.AsOf.Format(time.RFC3339), r.CapacityProcs,
			r.Lines,
			r.BadLines)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "queue\tclass\tlifetimes\tb0\tb1\tR2\tKS\ttmin s\ttmax h\t")
		for _, q := range r.Queues {
			for _, c := range q.Classes {
				if c.B0 == nil {
					fmt.Fprintf(t, "%s\t%s\t%d\ttoo few\t\t\t\t\t\t\n", terminal.Line(q.Name), c.Class, c.N)
					continue
				}
				fmt.Fprintf(t, "%s\t%s\t%d\t%.3f\t%.4f\t%.3f\t%.3f\t%.1f\t%.1f\t\n",
					terminal.Line(q.Name), c.Class, c.N, *c.B0, *c.B1, *c.R2, *c.KS, *c.TMinSeconds,
					*c.TMaxSeconds/3600)
			}
		}
		fmt.Fprintln(t)
		fmt.Fprintln(t, "queue\truntime states\tsize states\tcor0\tcor1\t")
		for _, q := range r.Queues {
			fmt.Fprintf(t, "%s\t%d\t%d\t%.3f\t%.3f\t\n", terminal.Line(q.Name), q.Markov.RuntimeStates,
				q.Markov.ProcsStates,
				q.Markov.Cor0, q.Markov.Cor1)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
