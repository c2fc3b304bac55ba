package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/workload/compare"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/markov"
)

// These are the models, with their names in --model.
const (
	ModelLublin     = "lublin"
	ModelMarkov     = "markov"
	modelUniformLog = "uniformlog"
	modelLifetime   = "lifetime"
	modelAll        = "all"
)

// fitFlags are the flags of waitcast fit.
type fitFlags struct {
	model  string
	form   string
	choice selection
	group  Grouping
	seed   seed
}

func newFit(a *Commands) *cobra.Command {
	var f fitFlags
	command := &cobra.Command{
		Use:   "fit TRACE.swf | -",
		Short: "Fit the papers' models to a workload",
		Long: "Fit the workload models of Lublin and Feitelson, of Song, Ernemann and Yahyapour (Markov chains) and " +
			"of Downey (uniform-log, by queue) to a\n" +
			"workload. Print their parameters and how well they fit, and which law of lifetimes predicts each " +
			"queue best. TRACE may be compressed\n" +
			"with gzip; - is standard input.",
		Example: "  waitcast fit KTH-SP2-1996-2.1-cln.swf.gz --status 1\n" +
			"  waitcast fit SDSC-Par-1996-3.1-cln.swf.gz --model uniformlog --group 'short=*s' --group 'long=*l' " +
			"--sequential --sequential-keep interactive\n" +
			"  waitcast fit log.swf --model lublin --json > params.json && waitcast generate --params params.json",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]string{ModelLublin, ModelMarkov, modelUniformLog, modelLifetime, modelAll}, f.model) {
				return console.NewUsageError(
					fmt.Sprintf("--model is %q; allowed: lublin, markov, uniformlog, lifetime, all", f.model))
			}
			if f.form != formLog && f.form != formPaper {
				return console.NewUsageError(fmt.Sprintf("--form is %q; allowed: log, paper", f.form))
			}
			if err := f.group.Parse(); err != nil {
				return console.NewUsageError(err.Error())
			}
			f.seed.drawIfUnset(a, c)
			return a.fit(args[0], f)
		},
	}
	command.Flags().StringVar(&f.model, "model", modelAll, "model to fit: lublin, markov, uniformlog, lifetime or all")
	formFlag(command.Flags(), &f.form)
	f.group.flags(command)
	f.choice.flags(command)
	f.seed.flag(command)
	return command
}

// Fitted is the output of "waitcast fit --json". The flag --params of "waitcast generate" reads it.
type Fitted struct {
	Trace      string            `json:"trace"`
	Jobs       int               `json:"jobs"`
	LeftOut    skippedRecords    `json:"left_out"`
	BadLines   int64             `json:"bad_lines"`
	MaxProcs   int64             `json:"max_procs,omitempty"`
	Seed       uint64            `json:"seed"`
	Load       offered           `json:"load"` // load of the jobs that were fitted, on the machine of the header
	Lublin     *LublinFit        `json:"lublin,omitempty"`
	Markov     *markovFit        `json:"markov,omitempty"`
	UniformLog []queueFit        `json:"uniformlog,omitempty"`
	Lifetimes  []lifetimeFit     `json:"lifetime,omitempty"`
	Missing    map[string]string `json:"missing,omitempty"` // for each model that could not be fitted, the reason
}

// LublinFit is a fit of the model of Lublin and Feitelson, with its goodness.
type LublinFit struct {
	Params     hypergamma.Params     `json:"params"` // the parameters from which generate draws
	Fit        hypergamma.ModelFit   `json:"fit"`
	Runtime    goodness              `json:"runtime_goodness"`    // goodness of the fit of ln runtime
	Work       goodness              `json:"work_goodness"`       // goodness of the fit of ln (processors * runtime)
	Subsamples hypergamma.Subsamples `json:"runtime_subsamples"`  // results for subsamples of subsampleSize runtimes
	ShortGaps  int                   `json:"short_gaps_left_out"` // number of interarrivals of at most 1 s
	// TooLarge is the number of jobs with more processors than the machine has.
	TooLarge int `json:"too_large_left_out"`
	// Drawn is the load of as many jobs as were fitted, drawn from the model.
	Drawn   offered   `json:"drawn"`
	DrawnKS distances `json:"drawn_ks"` // distances between the drawn and the recorded jobs
}

type markovFit struct {
	Chains *markov.Chains `json:"chains"`
	// These distances compare the recorded jobs with an equal number of drawn jobs (Song, Table 4).
	ProcsKS        float64 `json:"procs_ks"`
	RuntimeKS      float64 `json:"runtime_ks"`
	AreaDifference float64 `json:"area_difference"` // difference between the squashed areas, as a share
	// Drawn describes the work of the drawn jobs. The Markov chains have no arrivals.
	Drawn offered `json:"drawn"`
}

func (a *Commands) fit(file string, f fitFlags) error {
	r, err := a.record(file)
	if err != nil {
		return err
	}
	left, err := f.choice.choose(r)
	if err != nil {
		return err
	}
	out := Fitted{
		Trace: r.name, Jobs: len(r.records), LeftOut: left, BadLines: r.bad, MaxProcs: r.header.MaxProcs,
		Seed: f.seed.value, Missing: map[string]string{},
	}
	var failures []error
	wanted, machine := 0, int(min(r.header.MaxProcs, mostProcs))
	out.Load = offeredBy(r, machine)
	for _, m := range []struct {
		name string
		fit  func() error
	}{
		{ModelLublin, func() (err error) {
			out.Lublin, err = fitLublin(r, machine, f.form, f.seed.rng('l'))
			a.noteTooLarge(r, out.Lublin, machine)
			if err == nil {
				err = out.Lublin.draw(r, machine, f.seed.rng('g'))
			}
			return err
		}},
		{ModelMarkov, func() (err error) { out.Markov, err = fitMarkov(r, f.form, f.seed.rng('m')); return err }},
		{modelUniformLog, func() (err error) { out.UniformLog, err = fitQueues(r, &f.group); return err }},
		{modelLifetime, func() (err error) { out.Lifetimes, err = compareLifetimes(r, &f.group); return err }},
	} {
		if f.model != modelAll && f.model != m.name {
			continue
		}
		wanted++
		if err := m.fit(); err != nil {
			out.Missing[m.name] = err.Error()
			failures = append(failures, fmt.Errorf("%s: %s: %w", r.name, m.name, err))
		}
	}
	if len(failures) == wanted {
		return errors.Join(failures...)
	}
	if a.JSON {
		return json.NewEncoder(a.JSONTo()).Encode(out)
	}
	return out.print(a.Stdout)
}

// fitLublin fits the model of Lublin and Feitelson for a machine with the given number of processors; 0 means the size
// of the largest job. Jobs that are larger than the machine are left out.
func fitLublin(r *recording, machine int, form string, rng *rand.Rand) (*LublinFit, error) {
	c := r.columns()
	tooLarge := 0
	if machine > 0 {
		c, tooLarge = withinMachine(c, machine)
	}
	if len(c.Procs) == 0 {
		return nil, fmt.Errorf("every job has more than the %d processors of the machine", machine)
	}
	m, err := hypergamma.FitModel(c, machine, hypergamma.ArrivalOptions{})
	if err != nil {
		return nil, err
	}
	out := &LublinFit{Params: m.Params(), Fit: m, ShortGaps: m.Arrival.Dropped, TooLarge: tooLarge}
	if form == formLog {
		if out.Params, err = m.KeepWork(c); err != nil {
			return nil, err
		}
	}
	if err := out.Params.Validate(); err != nil {
		return nil, fmt.Errorf("the fit is no model that jobs can be drawn from: %w", err)
	}
	logs, _, err := hypergamma.LogSeconds(c.Seconds)
	if err != nil {
		return nil, err
	}
	if out.Runtime, err = judge(logs, m.Runtime.CDF); err != nil {
		return nil, err
	}
	if out.Subsamples, err = hypergamma.SubsampleTest(rng, logs, m.Runtime.CDF, subsampleSize,
		subsampleRepeats); err != nil {
		return nil, err
	}
	for i, procs := range c.Procs {
		c.Seconds[i] *= float64(procs)
	}
	if logs, _, err = hypergamma.LogSeconds(c.Seconds); err != nil {
		return nil, err
	}
	out.Work, err = judge(logs, m.Work.CDF)
	return out, err
}

// draw draws as many jobs as were fitted. It records their load and their distances from the recorded jobs.
func (l *LublinFit) draw(r *recording, machine int, rng *rand.Rand) error {
	g, err := hypergamma.New(rng, l.Params)
	if err != nil {
		return err
	}
	m := loadMeter{procs: machine}
	var sample drawnSample
	for range l.Fit.Size.N {
		j := g.Next()
		seconds := max(1, math.Round(j.Runtime))
		m.add(j.Submit, seconds, j.Procs)
		sample.add(j.Procs, seconds)
	}
	l.Drawn = m.result()
	l.DrawnKS, err = sample.from(r)
	return err
}

// withinMachine returns the jobs that fit into the machine, and the number of jobs that do not.
func withinMachine(c hypergamma.Jobs, machine int) (out hypergamma.Jobs, tooLarge int) {
	for i, procs := range c.Procs {
		if procs > machine {
			tooLarge++
			continue
		}
		out.Procs, out.Seconds, out.Local = append(out.Procs, procs), append(out.Seconds, c.Seconds[i]),
			append(out.Local, c.Local[i])
	}
	return out, tooLarge
}

// noteTooLarge reports the number of jobs that a fit left out because they are larger than the machine.
func (a *Commands) noteTooLarge(r *recording, fit *LublinFit, machine int) {
	if fit != nil && fit.TooLarge > 0 {
		a.Note("%s: lublin: left out %d jobs of more processors than the machine has, which are %d", r.name,
			fit.TooLarge, machine)
	}
}

// noteCut prints a warning if recorded jobs are larger than the machine of the generated workload.
func (a *Commands) noteCut(r *recording, machine int) {
	tooLarge := 0
	for i := range r.records {
		if machine > 0 && r.records[i].Procs() > int64(machine) {
			tooLarge++
		}
	}
	if tooLarge > 0 {
		a.Note("warning: %s: %d of %d jobs have more processors than the machine, which has %d: sizes are cut to that",
			r.name, tooLarge, len(r.records), machine)
	}
}

// learn passes the jobs to a Markov model in the order of their submissions.
func learn(r *recording) (*markov.Chains, error) {
	m, err := markov.New(0)
	if err != nil {
		return nil, err
	}
	for i := range r.records {
		if err := m.Append(int(r.records[i].Procs()), float64(r.records[i].Runtime)); err != nil {
			return nil, fmt.Errorf("job %d: %w", r.records[i].ID, err)
		}
	}
	return m.Chains(), nil
}

// fitMarkov fits the Markov chains. Then it draws as many jobs from them as were recorded, and measures the distances
// between drawn and recorded jobs.
func fitMarkov(r *recording, form string, rng *rand.Rand) (*markovFit, error) {
	chains, err := learn(r)
	if err != nil {
		return nil, err
	}
	g, err := markov.NewGenerator(chains, rng, rulesOf("", form)...)
	if err != nil {
		return nil, err
	}
	var meter loadMeter
	n := len(r.records)
	drawn, recorded := [2][]float64{make([]float64, n), make([]float64, n)},
		[2][]float64{make([]float64, n), make([]float64, n)}
	for i := range n {
		procs, seconds := g.Next()
		drawn[0][i], drawn[1][i] = float64(procs), seconds
		meter.add(0, seconds, procs)
		recorded[0][i], recorded[1][i] = float64(r.records[i].Procs()), float64(r.records[i].Runtime)
	}
	out := &markovFit{Chains: chains, Drawn: meter.result()}
	if out.ProcsKS, err = compare.KS(drawn[0], recorded[0]); err != nil {
		return nil, err
	}
	if out.RuntimeKS, err = compare.KS(drawn[1], recorded[1]); err != nil {
		return nil, err
	}
	ours, err := compare.SquashedArea(drawn[0], drawn[1])
	if err != nil {
		return nil, err
	}
	theirs, err := compare.SquashedArea(recorded[0], recorded[1])
	if err != nil {
		return nil, err
	}
	out.AreaDifference, err = compare.AreaDifference(ours, theirs)
	return out, err
}
