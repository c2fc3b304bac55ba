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

// Where arrivals come from, and bounds of machines.
const (
	ArrivalsLublin   = "lublin"
	arrivalsRecorded = "recorded"

	// programProcs is the machine of the program of Lublin and Feitelson (lublin99).
	programProcs = 128
	// mostSetProcs is the largest machine of a parameter set: hypergamma bounds log2 sizes by 30.
	mostSetProcs = 1 << 30
	// FirstMonday is the instant at which generated workloads begin: Monday, 5 January 1970, 0 h UTC.
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
	flags.StringVar(&f.From, "from", "", "trace that the model is fitted to first; - is standard input")
	flags.StringVar(&f.Arrivals, "arrivals", ArrivalsLublin,
		"arrivals of the models markov and uniformlog: lublin, or recorded, which ends with the trace")
	flags.Int64Var(&f.Jobs, "jobs", 10000, "number of jobs")
	flags.IntVar(&f.procs, "procs", 0,
		"processors of the machine (default: 128 with --set, the header's MaxProcs with --from)")
	f.choice.flags(command)
	f.seed.flag(command)
	f.live.flags(command)
	return command
}

// check refuses flags that do not go together.
func (f *GenerateFlags) check() error {
	given := 0
	for _, s := range []string{f.Set, f.params, f.From} {
		if s != "" {
			given++
		}
	}
	problem := ""
	switch {
	case f.live.given():
		problem = "--queue, --cluster, --hours and --format go with --live"
	case !slices.Contains([]string{ModelLublin, ModelMarkov, modelUniformLog}, f.Model):
		problem = fmt.Sprintf("--model is %q; allowed: lublin, markov, uniformlog", f.Model)
	case given != 1:
		problem = "give one of --set, --params and --from, or --live"
	case f.Model != ModelLublin && f.From == "":
		problem = fmt.Sprintf("the model %s must be fitted to a trace: give --from", f.Model)
	case f.Set != "" && !slices.Contains(hypergamma.SetNames(), f.Set):
		problem = fmt.Sprintf("--set is %q; allowed: %s", f.Set, strings.Join(hypergamma.SetNames(), ", "))
	case f.Arrivals != ArrivalsLublin && f.Arrivals != arrivalsRecorded:
		problem = fmt.Sprintf("--arrivals is %q; allowed: lublin, recorded", f.Arrivals)
	case f.Arrivals == arrivalsRecorded && f.Model == ModelLublin:
		problem = "--arrivals recorded goes with the models markov and uniformlog"
	case f.Jobs < 1:
		problem = fmt.Sprintf("--jobs is %d; want at least 1", f.Jobs)
	case f.procs < 0 || f.procs > mostSetProcs:
		problem = fmt.Sprintf("--procs is %d; want 1 to %d", f.procs, mostSetProcs)
	case f.procs > 0 && f.params != "":
		problem = "--procs goes with --set and --from: a file of parameters has its own sizes"
	case f.From == "" && (f.choice.clean || len(f.choice.statuses) > 0):
		problem = "--status and --clean choose jobs of a trace: they go with --from"
	default:
		return nil
	}
	return console.NewUsageError(problem)
}

// draw is one job of a model.
type draw struct {
	submit, runtime float64 // seconds
	procs           int
	queue           int64 // swf.Unknown for none
}

// synthetic is a stream of jobs with the header they belong to.
type synthetic struct {
	header *swf.Header
	next   func() (draw, bool)
	// cut cuts runtimes to whole seconds, as the authors' program does; otherwise they are rounded.
	cut bool
}

// Generate writes a synthetic workload to standard output.
func (a *Commands) Generate(f *GenerateFlags) error {
	s, how, err := a.source(f)
	if err != nil {
		return err
	}
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
		runtime := math.Round(j.runtime)
		if s.cut {
			runtime = math.Floor(j.runtime)
		}
		rec.Submit, rec.Runtime, rec.Queue = int64(j.submit), int64(max(1, min(runtime, math.MaxInt64/2))), j.queue
		rec.Allocated, rec.RequestedProcs = int64(j.procs), int64(j.procs)
		if err := out.Write(&rec); err != nil {
			return err
		}
		if rec.ID%progressJobs == 0 {
			_ = bar.Set64(rec.ID)
		}
	}
	return out.Flush()
}

// progressJobs is after how many jobs the progress bar moves.
const progressJobs = 1 << 14

// source prepares the model to draw from, and returns its description.
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
		if len(sets) > 1 { // the program's queues: 0 for interactive jobs, 1 for batch jobs
			s.header.Queues = map[int64]string{0: "interactive", 1: "batch"}
		}
		return s, fmt.Sprintf("set %s, %d processors", f.Set, procs), nil
	case f.params != "":
		p, err := a.readParams(f.params)
		if err != nil {
			return nil, "", err
		}
		s, err := drawLublin(f.seed.rng('g'), newHeader(int(math.Round(math.Exp2(p.Size.High)))), *p)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", f.params, err)
		}
		return s, "parameters " + f.params, nil
	}
	s, err := a.fitSource(f)
	return s, fmt.Sprintf("fitted to %s, arrivals %s", f.From, f.Arrivals), err
}

func newHeader(procs int) *swf.Header {
	return &swf.Header{UnixStartTime: FirstMonday, MaxProcs: int64(procs)}
}

// drawLublin draws from sets of parameters.
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

// readParams reads what waitcast fit --json wrote, or the parameters alone.
func (a *Commands) readParams(file string) (*hypergamma.Params, error) {
	in, _, err := a.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var report struct {
		Lublin *struct {
			Params *hypergamma.Params `json:"params"`
		} `json:"lublin"`
		Size *hypergamma.SizeParams `json:"size"`
	}
	var p hypergamma.Params
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", file, placed(text, err))
	}
	switch {
	case report.Lublin != nil && report.Lublin.Params != nil:
		p = *report.Lublin.Params
	case report.Size != nil:
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, placed(text, err))
		}
	default:
		return nil,
			fmt.Errorf("%s: it has no member lublin.params; write it with 'waitcast fit --model lublin --json'", file)
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &p, nil
}

// placed adds the line to an error of JSON, where it has a place.
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

// fitSource fits a model to a trace and prepares to draw from it.
func (a *Commands) fitSource(f *GenerateFlags) (*synthetic, error) {
	r, err := a.record(f.From)
	if err != nil {
		return nil, err
	}
	left, err := f.choice.choose(r)
	if err != nil {
		return nil, err
	}
	a.Note("%s: fitted to %d jobs; left out: %s", r.name, len(r.records), left)
	procs := f.procs
	if procs == 0 {
		procs = int(min(r.header.MaxProcs, mostSetProcs))
	}
	var s *synthetic
	switch f.Model {
	case ModelMarkov:
		s, err = drawMarkov(r, f, procs)
	case modelUniformLog:
		s, err = drawQueues(r, f, procs)
	default:
		var fit *LublinFit
		if fit, err = fitLublin(r, procs, f.seed.rng('l')); err == nil {
			a.noteTooLarge(r, fit, procs)
			s, err = drawLublin(f.seed.rng('g'), newHeader(procs), fit.Params)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", r.name, f.Model, err)
	}
	return s, nil
}

// submits returns the arrivals for the models that have none of their own, and the header of a workload with such
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
		return nil, nil, fmt.Errorf("%w (--arrivals recorded needs no fit)", err)
	}
	rng, arrivals := f.seed.rng('a'), hypergamma.NewArrivals(fit.Params())
	return func() (float64, bool) { return arrivals.Next(rng), true }, newHeader(procs), nil
}

// fits cuts a size to the machine's, 0 processors being no limit.
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
	g, err := markov.NewGenerator(chains, f.seed.rng('g'))
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

// drawQueues draws from Downey's laws: the queue by its share of the jobs, the runtime by the queue's law, up to the
// longest that was recorded, and a size from those recorded in the queue. Jobs of queues without a law are drawn from
// the law of all jobs together.
func drawQueues(r *recording, f *GenerateFlags, procs int) (*synthetic, error) {
	names, of := byQueue(r, new(Grouping))
	var all []*swf.Record
	for _, name := range names {
		all = append(all, of[name]...)
	}
	common, commonErr := uniformlog.FitValues(runtimesOf(all))
	var classes []uniformlog.Class
	for _, name := range names {
		values := runtimesOf(of[name])
		fit, err := uniformlog.FitValues(values)
		if err != nil {
			if commonErr != nil {
				return nil, fmt.Errorf("queue %s: %w; all queues together: %w", name, err, commonErr)
			}
			fit = common
		}
		classes = append(classes,
			uniformlog.Class{Name: name, Weight: float64(len(values)), Model: fit.Model, Limit: slices.Max(values)})
	}
	if len(classes) == 0 {
		return nil, errors.New("no job of at least 1 s")
	}
	rng := f.seed.rng('g')
	g, err := uniformlog.NewGenerator(rng, classes...)
	if err != nil {
		return nil, err
	}
	submit, header, err := submits(r, f, procs)
	if err != nil {
		return nil, err
	}
	header.Queues = r.header.Queues
	sizes := f.seed.rng('p')
	return &synthetic{header: header, next: func() (draw, bool) {
		at, ok := submit()
		if !ok {
			return draw{}, false
		}
		class, seconds := g.Next()
		recorded := of[classes[class].Name]
		like := recorded[sizes.IntN(len(recorded))]
		return draw{submit: at, runtime: seconds, procs: fits(int(like.Procs()), procs), queue: like.Queue}, true
	}}, nil
}
