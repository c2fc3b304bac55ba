package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/markov"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// These are values of flags, and limits of machines.
const (
	ArrivalsLublin   = "lublin"
	arrivalsRecorded = "recorded"

	// These are the values of --rules.
	rulesPaper, rulesMagnitude, rulesNone, rulesJoint = "paper", "magnitude", "none", "joint"
	// These are the values of --form.
	formLog, formPaper = "log", "paper"

	// programProcs is the machine size in the program of Lublin and Feitelson (lublin99).
	programProcs = 128
	// mostSetProcs is the largest machine of a parameter set. hypergamma limits the log2 of sizes to 30.
	mostSetProcs = 1 << 30
	// FirstMonday is the instant at which generated workloads begin, in Unix seconds: Monday, 5 January 1970, 0 h
	// UTC.
	FirstMonday = 4 * 86400
)

func newGenerate(a *Commands) *cobra.Command {
	var f GenerateFlags
	command := &cobra.Command{
		Use:   "generate",
		Short: "Generate a workload from a model",
		Long: "Draw jobs from a workload model: Lublin and Feitelson's with built-in parameters (--set), with those " +
			"of a file that 'waitcast fit --json' wrote\n" +
			"(--params), any model fitted to a trace first (--from), or any model that the daemon keeps up to date " +
			"(--live). The workload goes to standard\n" +
			"output.",
		Example: "  waitcast generate --set lublin99 --procs 256 --jobs 100000 --seed 1 > synthetic.swf\n" +
			"  waitcast generate --model markov --from KTH-SP2-1996-2.1-cln.swf.gz --jobs 20000 > markov.swf\n" +
			"  waitcast generate --live --model users --queue batch --hours 168 > week.swf",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.live.on {
				return a.generateLive(c, &f)
			}
			if err := a.noJSON("generate"); err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			f.seed.drawIfUnset(a, c)
			return a.Generate(&f)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.Model, "model", ModelLublin, "model: lublin, markov or uniformlog; with --live users too")
	flags.StringVar(&f.Set, "set", "", "built-in parameters of the model lublin: "+
		strings.Join(hypergamma.SetNames(), ", "))
	flags.StringVar(&f.params, "params", "",
		"file of parameters of the model lublin, as waitcast fit --json writes it; - is standard input")
	flags.StringVar(&f.From, "from", "", "trace to which the model is fitted first; - is standard input")
	flags.StringVar(&f.Arrivals, "arrivals", ArrivalsLublin,
		"arrivals of the models markov and uniformlog: lublin, or recorded, which ends with the trace")
	formFlag(flags, &f.form)
	flags.StringVar(&f.rules, "rules", "",
		"how sizes of the model markov follow runtimes: joint, as often as in the trace (the default); paper, by "+
			"the paper's rules; magnitude, the same with a negative cor0 counted by its magnitude; or none")
	flags.BoolVar(&f.noLimits, "no-limits", false,
		"with --from: no users and no time limits, as in the papers")
	flags.StringVar(&f.limits, "limits", "",
		"with --set and --params: draw users and time limits from those of this trace")
	flags.Int64Var(&f.Jobs, "jobs", 10000, "number of jobs")
	flags.IntVar(&f.procs, "procs", 0,
		"processors of the machine (default: 128 with --set, the header's MaxProcs with --from)")
	flags.Var(&f.load, "load", "offered load of the workload, by the times between its jobs: a number, or same, that "+
		"of the trace")
	f.choice.flags(command)
	f.seed.flag(command)
	f.live.flags(command)
	return command
}

// check returns an error for flags that contradict each other.
func (f *GenerateFlags) check() error {
	sources := 0
	for _, s := range []string{f.Set, f.params, f.From} {
		if s != "" {
			sources++
		}
	}
	problem := ""
	switch {
	case f.live.isSet():
		problem = "--queue, --cluster, --hours and --format go with --live"
	case !slices.Contains([]string{ModelLublin, ModelMarkov, modelUniformLog}, f.Model):
		problem = fmt.Sprintf("--model is %q; allowed: lublin, markov, uniformlog", f.Model)
	case sources != 1:
		problem = "give one of --set, --params and --from, or --live"
	case f.Model != ModelLublin && f.From == "":
		problem = fmt.Sprintf("the model %s must be fitted to a trace: give --from", f.Model)
	case f.Set != "" && !slices.Contains(hypergamma.SetNames(), f.Set):
		problem = fmt.Sprintf("--set is %q; allowed: %s", f.Set, strings.Join(hypergamma.SetNames(), ", "))
	case f.Arrivals != ArrivalsLublin && f.Arrivals != arrivalsRecorded:
		problem = fmt.Sprintf("--arrivals is %q; allowed: lublin, recorded", f.Arrivals)
	case f.Arrivals == arrivalsRecorded && f.Model == ModelLublin:
		problem = "--arrivals recorded goes with the models markov and uniformlog"
	case f.form != formLog && f.form != formPaper:
		problem = fmt.Sprintf("--form is %q; allowed: log, paper", f.form)
	case f.form != formLog && f.From == "":
		problem = "--form is that of a fit: it goes with --from"
	case f.noLimits && f.From == "":
		problem = "--no-limits goes with --from: there are none without a trace"
	case f.limits != "" && f.From != "":
		problem = "--limits goes with --set and --params: with --from limits are those of its trace"
	case !slices.Contains([]string{"", rulesPaper, rulesMagnitude, rulesNone, rulesJoint}, f.rules):
		problem = fmt.Sprintf("--rules is %q; allowed: joint, paper, magnitude, none", f.rules)
	case f.rules != "" && f.Model != ModelMarkov:
		problem = "--rules goes with the model markov"
	case f.Jobs < 1:
		problem = fmt.Sprintf("--jobs is %d; want at least 1", f.Jobs)
	case f.procs < 0 || f.procs > mostSetProcs:
		problem = fmt.Sprintf("--procs is %d; want 1 to %d", f.procs, mostSetProcs)
	case f.procs > 0 && f.params != "":
		problem = "--procs goes with --set and --from: a file of parameters has its own sizes"
	case f.load.same && f.Set != "":
		problem = "--load same is that of a trace: it goes with --from and --params; with --set give a number"
	case f.From == "" && (f.choice.clean || len(f.choice.statuses) > 0):
		problem = "--status and --clean choose jobs of a trace: they go with --from"
	default:
		return nil
	}
	return console.NewUsageError(problem)
}

// draw is one job of a model.
type draw struct {
	submit, runtime float64 // in seconds
	procs           int
	queue           int64 // swf.Unknown if the job has no queue
}

// synthetic is a stream of generated jobs, with the header of the workload.
type synthetic struct {
	header *swf.Header
	next   func() (draw, bool)
	// like is the load of the jobs to which the model was fitted; nil if unknown.
	like *offered
	// trace is the recorded workload to which the model was fitted; nil if there is none.
	trace *recording
	// cut is true if runtimes are cut to whole seconds, as in the program of Lublin and Feitelson. Otherwise they are
	// rounded.
	cut bool
}

// Generate writes a synthetic workload to standard output.
func (a *Commands) Generate(f *GenerateFlags) error {
	s, how, err := a.source(f)
	if err != nil {
		return err
	}
	if f.load.isSet() {
		if err := s.scale(f); err != nil {
			return err
		}
		how += ", load " + f.load.String()
	}
	meter := loadMeter{procs: int(s.header.MaxProcs)}
	people, err := a.customsFor(s, f)
	if err != nil {
		return err
	}
	var sample drawnSample
	out := swf.NewWriter(a.Data())
	header := madeBy(s.header,
		fmt.Sprintf("generate: model %s, %s, %d jobs, seed %d", f.Model, how, f.Jobs, f.seed.value), true)
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	bar := a.CountBar(int(f.Jobs), "jobs")
	defer bar.Clear() //nolint:errcheck // it is only decoration
	rec := swf.Record{
		Wait: swf.Unknown, CPUTime: swf.Unknown, Memory: swf.Unknown, TimeLimit: swf.Unknown, RequestedMem: swf.Unknown,
		Status: swf.StatusCompleted,
		User:   swf.Unknown, Group: swf.Unknown, Executable: swf.Unknown, Partition: swf.Unknown,
		Preceding: swf.Unknown, ThinkTime: swf.Unknown,
	}
	for rec.ID = 1; rec.ID <= f.Jobs; rec.ID++ {
		j, ok := s.next()
		if !ok {
			a.Note("%d jobs only: the recorded arrivals end there", rec.ID-1)
			break
		}
		if j.submit > math.MaxInt64/2 {
			return fmt.Errorf("job %d would be submitted in %.3g years: the model's interarrival times have no mean",
				rec.ID, j.submit/(365*86400))
		}
		runtime := s.seconds(&j)
		meter.add(j.submit, runtime, j.procs)
		rec.Submit, rec.Runtime, rec.Queue = int64(j.submit), int64(runtime), j.queue
		rec.Allocated, rec.RequestedProcs = int64(j.procs), int64(j.procs)
		sample.add(j.procs, runtime)
		if people != nil {
			people.give(&rec)
		}
		if err := out.Write(&rec); err != nil {
			return err
		}
		if rec.ID%progressJobs == 0 {
			_ = bar.Set64(rec.ID)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_ = bar.Clear()
	a.noteOffered(meter.result(), s.like, f.load.isSet())
	return a.noteDistance(&sample, s.trace)
}

// seconds returns the runtime of a job for the workload, in whole seconds of at least 1.
func (s *synthetic) seconds(j *draw) float64 {
	runtime := math.Round(j.runtime)
	if s.cut {
		runtime = math.Floor(j.runtime)
	}
	return max(1, min(runtime, math.MaxInt64/2))
}

// noteOffered reports the load of a generated workload next to the load of the original. It warns if a figure differs
// by more than otherLoad; if the load was scaled on request, only if the work per job does.
func (a *Commands) noteOffered(o offered, like *offered, scaled bool) {
	text, differ := o.beside(like)
	a.Note("%s", text)
	switch {
	case differ && scaled && math.Abs(o.MeanWork/like.MeanWork-1) > otherLoad:
		a.Note("warning: the jobs are not as large as the recorded ones, which the times between them make up for")
	case differ && !scaled:
		a.Note("warning: this is not the recorded load; --load same scales the times between the jobs")
	}
}

// scale draws all jobs first. Then it scales the times between them to reach the requested load.
func (s *synthetic) scale(f *GenerateFlags) error {
	want, procs, err := s.target(f)
	if err != nil {
		return err
	}
	meter := loadMeter{procs: procs}
	var jobs []draw
	for range f.Jobs {
		j, ok := s.next()
		if !ok {
			break
		}
		meter.add(j.submit, s.seconds(&j), j.procs)
		jobs = append(jobs, j)
	}
	o := meter.result()
	if !(o.Load > 0) {
		return fmt.Errorf("--load: %d jobs between whose submits no time passes offer no load", len(jobs))
	}
	factor, at := o.Load/want, 0
	s.next = func() (draw, bool) {
		if at == len(jobs) {
			return draw{}, false
		}
		j := jobs[at]
		at++
		j.submit = meter.first + (j.submit-meter.first)*factor
		return j, true
	}
	return nil
}

// target returns the requested load and the number of processors of the machine to which this load refers. For --load
// same and a trace from a machine of unknown size, target assumes one processor, for the trace and for the workload;
// the generated jobs do not depend on this assumption.
func (s *synthetic) target(f *GenerateFlags) (load float64, procs int, err error) {
	load, procs = f.load.load, int(s.header.MaxProcs)
	switch {
	case f.load.same && procs <= 0 && s.trace != nil:
		procs = 1
		of := offeredBy(s.trace, procs)
		load = of.Load
	case procs <= 0:
		return 0, 0, console.NewUsageError("--load needs the size of the machine: give --procs")
	case f.load.same && s.like == nil:
		return 0, 0, console.NewUsageError(
			"--load same: the parameters do not tell the load that they were fitted to: give a number")
	case f.load.same:
		load = s.like.Load
	}
	if !(load > 0) {
		return 0, 0, errors.New("--load same: the jobs of the trace offer no load: they have no runtimes, or were " +
			"all submitted at once; give a number")
	}
	return load, procs, nil
}

// progressJobs is the number of jobs between two updates of the progress bar.
const progressJobs = 1 << 14

// source prepares a model for drawing, and returns its description.
func (a *Commands) source(f *GenerateFlags) (*synthetic, string, error) {
	switch {
	case f.Set != "":
		procs := f.procs
		if procs == 0 {
			procs = programProcs
		}
		sets, err := hypergamma.Named(f.Set, procs)
		if err != nil {
			return nil, "", console.NewUsageError(err.Error())
		}
		s, err := drawLublin(f.seed.rng('g'), newHeader(procs), sets...)
		if err != nil {
			return nil, "", err
		}
		s.cut = sets[0].Arrival.WholeSeconds
		if len(sets) > 1 { // the queues of the authors' program: queue 0 has interactive jobs, queue 1 has batch jobs
			s.header.Queues = map[int64]string{0: "interactive", 1: "batch"}
		}
		return s, fmt.Sprintf("set %s, %d processors", f.Set, procs), nil
	case f.params != "":
		p, like, procs, err := a.readParams(f.params)
		if err != nil {
			return nil, "", err
		}
		s, err := drawLublin(f.seed.rng('g'), newHeader(procs), *p)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", f.params, err)
		}
		s.like = like
		return s, "parameters " + f.params, nil
	}
	s, err := a.fitSource(f)
	return s, fmt.Sprintf("fitted to %s, form %s, arrivals %s", f.From, f.form, f.Arrivals), err
}

func newHeader(procs int) *swf.Header {
	return &swf.Header{UnixStartTime: FirstMonday, MaxProcs: int64(procs)}
}

// drawLublin prepares drawing from parameter sets.
func drawLublin(rng *rand.Rand, h *swf.Header, sets ...hypergamma.Params) (*synthetic, error) {
	g, err := hypergamma.New(rng, sets...)
	if err != nil {
		return nil, err
	}
	return &synthetic{header: h, next: func() (draw, bool) {
		j := g.Next()
		queue := int64(swf.Unknown)
		if len(sets) > 1 {
			queue = int64(j.Class)
		}
		return draw{submit: j.Submit, runtime: j.Runtime, procs: j.Procs, queue: queue}, true
	}}, nil
}

// readParams reads the output of "waitcast fit --json", or a file with only the parameters. like is the load of the
// jobs to which the parameters were fitted; nil if the file does not have it. procs is the size of the machine or, if
// the file does not have it, of the largest job.
func (a *Commands) readParams(file string) (p *hypergamma.Params, like *offered, procs int, err error) {
	in, _, err := a.Open(file)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", file, err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", file, err)
	}
	var report struct {
		Lublin *struct {
			Params *hypergamma.Params `json:"params"`
		} `json:"lublin"`
		Size *hypergamma.SizeParams `json:"size"`
		Load *offered               `json:"load"`
		// MaxProcs is the number of processors of the machine. If the file has only the sizes of jobs, it is the size
		// of the largest job.
		MaxProcs int64 `json:"max_procs"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", file, placed(text, err))
	}
	p = new(hypergamma.Params)
	switch {
	case report.Lublin != nil && report.Lublin.Params != nil:
		p = report.Lublin.Params
	case report.Size != nil:
		if err := json.Unmarshal(text, p); err != nil {
			return nil, nil, 0, fmt.Errorf("%s: %w", file, placed(text, err))
		}
	default:
		return nil, nil, 0,
			fmt.Errorf("%s: it has no member lublin.params; write it with 'waitcast fit --model lublin --json'", file)
	}
	if err := p.Validate(); err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", file, err)
	}
	procs = int(min(report.MaxProcs, mostSetProcs))
	if procs <= 0 {
		procs = int(math.Round(math.Exp2(p.Size.High)))
	}
	return p, report.Load, procs, nil
}

// placed adds the line number to a JSON error that has an offset.
func placed(text []byte, err error) error {
	at := int64(-1)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	}
	if at < 0 || at > int64(len(text)) {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+strings.Count(string(text[:at]), "\n"), err)
}

// fitSource fits a model to a trace and prepares it for drawing.
func (a *Commands) fitSource(f *GenerateFlags) (*synthetic, error) {
	r, err := a.record(f.From)
	if err != nil {
		return nil, err
	}
	left, err := f.choice.choose(r)
	if err != nil {
		return nil, err
	}
	procs := f.procs
	if procs == 0 {
		procs = int(min(r.header.MaxProcs, mostSetProcs))
	}
	if f.Model != ModelLublin {
		a.noteCut(r, procs)
	}
	var s *synthetic
	switch f.Model {
	case ModelMarkov:
		s, err = drawMarkov(r, f, procs)
	case modelUniformLog:
		s, err = drawQueues(r, f, procs)
	default:
		var fit *LublinFit
		if fit, err = fitLublin(r, procs, f.form, f.seed.rng('l')); err == nil {
			a.noteTooLarge(r, fit, procs)
			s, err = drawLublin(f.seed.rng('g'), newHeader(procs), fit.Params)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %d jobs (left out: %s): %w", r.name, len(r.records), left, advise(f.Model, err))
	}
	a.Note("%s: fitted to %d jobs; left out: %s", r.name, len(r.records), left)
	like := offeredBy(r, procs)
	s.like, s.trace = &like, r
	return s, nil
}

// advise adds advice to the error of a fit: what the user can do if the log has too little data for the model.
func advise(model string, err error) error {
	advice := "its own arrivals, with --arrivals recorded"
	switch {
	case errors.Is(err, hypergamma.ErrNoSpread), errors.Is(err, uniformlog.ErrNoSpread):
		return fmt.Errorf("%s: %w; of such a log take --model markov, or waitcast resample", model, err)
	case errors.Is(err, uniformlog.ErrTooFew):
		advice = "--model markov with --arrivals recorded"
	case !errors.Is(err, hypergamma.ErrTooFew):
		return fmt.Errorf("%s: %w", model, err)
	case model == ModelLublin:
		advice = "--model markov with --arrivals recorded, or waitcast resample"
	}
	return fmt.Errorf("%s: %w; take a longer log, or %s", model, err, advice)
}

// submits returns the arrivals for models that have no arrivals of their own, and the header of a workload with these
// arrivals.
func submits(r *recording, f *GenerateFlags, procs int) (func() (float64, bool), *swf.Header, error) {
	if f.Arrivals == arrivalsRecorded {
		times := make([]float64, len(r.records))
		for i := range times {
			times[i] = float64(r.records[i].Submit)
		}
		h := newHeader(procs)
		h.UnixStartTime, h.TimeZone, h.TimeZoneString = r.header.UnixStartTime, r.header.TimeZone,
			r.header.TimeZoneString
		return markov.Recorded(times), h, nil
	}
	fit, err := hypergamma.FitArrivals(r.columns().Local, hypergamma.ArrivalOptions{})
	if err != nil {
		return nil, nil, err
	}
	rng, arrivals := f.seed.rng('a'), hypergamma.NewArrivals(fit.Params())
	return func() (float64, bool) { return arrivals.Next(rng), true }, newHeader(procs), nil
}

// fits limits a size to the size of the machine. If machine is 0, there is no limit.
func fits(size, machine int) int {
	if machine > 0 {
		return min(size, machine)
	}
	return size
}

func drawMarkov(r *recording, f *GenerateFlags, procs int) (*synthetic, error) {
	chains, err := learn(r)
	if err != nil {
		return nil, err
	}
	g, err := markov.NewGenerator(chains, f.seed.rng('g'), rulesOf(f.rules, f.form)...)
	if err != nil {
		return nil, err
	}
	submit, header, err := submits(r, f, procs)
	if err != nil {
		return nil, err
	}
	return &synthetic{header: header, next: func() (draw, bool) {
		at, ok := submit()
		if !ok {
			return draw{}, false
		}
		size, seconds := g.Next()
		return draw{submit: at, runtime: seconds, procs: fits(size, procs), queue: swf.Unknown}, true
	}}, nil
}
