package offline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/clean"
	"github.com/waitcast/waitcast/workload/users"
)

// resampleFlags are the flags of waitcast resample.
type resampleFlags struct {
	load, rare float64
	rareGiven  bool
	length     duration.Value
	start      start
	stationary bool
	bias       bias
	feedback   feedbackFlags
	seed       seed
}

func newResample(a *Commands) *cobra.Command {
	var f resampleFlags
	command := &cobra.Command{
		Use:   "resample TRACE.swf [MORE.swf...]",
		Short: "Compose a workload of randomly chosen users",
		Long: "Resample a workload user by user: of any length, with more or fewer users, each with their own " +
			"jobs at the same weekdays\n" +
			"and times of day. Further traces are mixed in. The workload goes to standard output, its load to " +
			"standard error. A trace may be compressed with gzip; - is standard input.",
		Example: "  waitcast resample KTH-SP2-1996-2.1-cln.swf.gz --load 1.3 --length 26w --seed 1 > busier.swf\n" +
			"  waitcast resample KTH-SP2-1996-2.1-cln.swf.gz --favor wide=5 --temporary 0.5 > wider.swf\n" +
			"  waitcast resample KTH-SP2-1996-2.1-cln.swf.gz --load 2 --feedback easy --patience 4h > throttled.swf",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.noJSON("resample"); err != nil {
				return err
			}
			if !(f.load > 0) || math.IsInf(f.load, 1) {
				return console.NewUsageError(fmt.Sprintf("--load is %v; want a factor above 0", f.load))
			}
			if f.rareGiven = c.Flags().Changed("rare"); !(f.rare >= 0) || math.IsInf(f.rare, 1) {
				return console.NewUsageError(fmt.Sprintf("--rare is %v; want 0 or more a week", f.rare))
			}
			if c.Flags().Changed("length") && f.length <= 0 {
				return console.NewUsageError("--length must be more than 0")
			}
			if err := errors.Join(f.start.check(), f.bias.parse(), f.feedback.check(c)); err != nil {
				return console.NewUsageError(err.Error())
			}
			f.seed.drawIfUnset(a, c)
			return a.resample(args, f)
		},
	}
	flags := command.Flags()
	flags.Float64Var(&f.load, "load", 1, "factor on the number of users, and so on the load")
	flags.Var(&f.length, "length", "time that the workload covers (by default that of the first trace)")
	flags.Lookup("length").DefValue = "" // the flag's text states the default
	flags.Float64Var(&f.rare, "rare", 0,
		"flurries a week; with this flag, even with 0, the traces' own flurries are removed from their users")
	f.start.flag(command)
	flags.BoolVar(&f.stationary, "stationary", false,
		"as many users at the beginning as later; otherwise the beginning is busier, as in the paper")
	f.bias.flags(command)
	f.feedback.flags(command)
	f.seed.flag(command)
	return command
}

// mix is the set of traces from which a workload is resampled.
type mix struct {
	traces  []*recording
	sources []users.Source
	left    []skippedRecords
	queues  []map[int64]int64 // for each trace: the new file's numbers of its named queues
}

func (a *Commands) resample(files []string, f resampleFlags) error {
	var m mix
	for _, file := range files {
		if err := m.add(a, file, &f); err != nil {
			return err
		}
	}
	if f.rare > 0 && !slices.ContainsFunc(m.sources, func(s users.Source) bool { return len(s.Pools.Rare) > 0 }) {
		return fmt.Errorf("--rare %v: no flurry was found in %q: leave --rare out, or give logs that still have theirs",
			f.rare, files)
	}
	f.bias.factors(m.sources)
	cfg := users.Config{
		Seed: f.seed.value, Length: time.Duration(f.length).Seconds(), Load: f.load, Stationary: f.stationary,
		RarePerWeek: f.rare,
		Weight:      f.bias.weight(m.sources), Feedback: f.feedback.config(),
	}
	g, err := users.NewGenerator(cfg, m.sources...)
	if err != nil {
		return err
	}
	pools := m.sources[0].Pools
	if cfg.Length == 0 {
		cfg.Length = pools.End - pools.Start
	}
	for i, s := range m.sources {
		a.Note("%s: %d long-term users, %d temporary ones, %d left out near the ends; jobs left out: %s",
			m.traces[i].name, len(s.Pools.LongTerm), len(s.Pools.Temporary), len(s.Pools.Dropped), m.left[i])
	}
	jobs := func(yield func(users.Arrival, float64) bool) {
		for arrival := range g.All() {
			if !yield(arrival, swf.Unknown) {
				return
			}
		}
	}
	if f.feedback.policy != "" {
		if jobs, err = a.throttled(g, m.traces[0], &f.feedback); err != nil {
			return err
		}
	}
	out := swf.NewWriter(a.Data())
	if err := out.WriteHeader(m.header(files, &f)); err != nil {
		return err
	}
	work := 0.0
	for arrival, wait := range jobs {
		rec := m.copied(&arrival)
		rec.Wait = int64(math.Round(wait))
		work += float64(arrival.Procs) * arrival.Runtime
		if err := out.Write(&rec); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	target := f.load
	if len(files) > 1 || f.bias.any() || f.feedback.policy != "" {
		target = 0 // the target does not apply any more: other traces add load, and other users or feedback change it
	}
	a.describeLoad(m.traces[0], pools, work/cfg.Length, target)
	return nil
}

// add reads another trace, and adds its users, sorted into pools (users.Split).
func (m *mix) add(a *Commands, file string, f *resampleFlags) error {
	r, err := a.record(file)
	if err != nil {
		return err
	}
	begin, err := f.start.of(r)
	if err != nil {
		return err
	}
	left, err := new(selection).choose(r)
	if err != nil {
		return err
	}
	jobs := r.jobs()
	var o users.Options
	if f.rareGiven {
		report, err := clean.Find(jobs, clean.Options{Start: r.header.Start()})
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		o.Rare = report.RareBehaviors()
	}
	pools, err := users.Split(users.Trace{Name: r.name, Jobs: jobs, Start: begin, Monday: r.monday()}, o)
	if err != nil {
		return err
	}
	s := users.Source{Pools: pools}
	if len(m.traces) > 0 {
		if most := int(min(m.traces[0].header.MaxProcs, mostProcs)); most > 0 {
			s.Procs = func(procs int) int { return min(procs, most) }
		}
	}
	m.traces, m.sources, m.left = append(m.traces, r), append(m.sources, s), append(m.left, left)
	return nil
}

// header returns the header of the workload: that of the first trace, with the names of the queues of all traces. It
// also sets queues, the new numbers of these queues.
func (m *mix) header(files []string, f *resampleFlags) *swf.Header {
	length := "as the first"
	if f.length > 0 {
		length = f.length.String()
	}
	rare := "as recorded"
	if f.rareGiven {
		rare = fmt.Sprintf("%v a week", f.rare)
	}
	how := fmt.Sprintf("resample: load %v, length %s, start %s, flurries %s, stationary %v%s%s, seed %d, of %q",
		f.load, length, f.start.text, rare, f.stationary, f.bias.String(), f.feedback.String(), f.seed.value, files)
	h := madeBy(m.traces[0].header, how, true)
	known, names, next := map[string]int64{}, map[int64]string{}, int64(0)
	for n, name := range h.Queues {
		known[name], names[n], next = n, name, max(next, n+1)
	}
	m.queues = make([]map[int64]int64, len(m.traces))
	for i, r := range m.traces[1:] {
		m.queues[i+1] = map[int64]int64{}
		for _, n := range sortedKeys(r.header.Queues) {
			name := r.header.Queues[n]
			if _, ok := known[name]; !ok {
				known[name], names[next] = next, name
				next++
			}
			m.queues[i+1][n] = known[name]
		}
	}
	h.Queues = names
	return h
}

// copied returns the record of a resampled job: the original record with another number, submit time and user. Fields
// that refer to other jobs of the original become unknown. For a trace that was mixed in, fields whose numbers have
// another meaning in the first trace become unknown too.
func (m *mix) copied(arrival *users.Arrival) swf.Record {
	rec := m.traces[arrival.Source].records[arrival.Index]
	before := rec.Procs()
	rec.ID, rec.Submit, rec.User = arrival.Serial, int64(math.Round(arrival.Submit)), arrival.User
	rec.Wait, rec.Preceding, rec.ThinkTime = swf.Unknown, swf.Unknown, swf.Unknown
	if procs := int64(arrival.Procs); procs != before {
		rec.Allocated, rec.RequestedProcs = procs, procs
	}
	if arrival.Source > 0 {
		queue, ok := m.queues[arrival.Source][rec.Queue]
		if !ok {
			queue = swf.Unknown
		}
		rec.Queue, rec.Group, rec.Executable, rec.Partition = queue, swf.Unknown, swf.Unknown, swf.Unknown
	}
	return rec
}

// describeLoad describes the load of the workload on the first trace's machine, next to the recorded load. power is the
// mean work of the workload per second, in processors. If factor is not 0, it also shows the target. It warns if the
// load misses the target by more than otherLoad, and if it is at least the whole capacity of the machine.
func (a *Commands) describeLoad(r *recording, p *users.Pools, power, factor float64) {
	machine := float64(r.header.MaxProcs)
	if machine <= 0 {
		a.Note("the load is not known: the header of %s has no MaxProcs", r.name)
		return
	}
	work := 0.0
	for i := range r.records {
		if rec := &r.records[i]; rec.Procs() > 0 && rec.Runtime > 0 {
			work += float64(rec.Procs()) * float64(rec.Runtime)
		}
	}
	recorded := work / (p.End - p.Start) / machine
	load := power / machine
	target := ""
	if factor > 0 {
		target = fmt.Sprintf(", times %v is %s", factor, three(recorded*factor))
	}
	a.Note("offered load %s; %s has %s%s", three(load), r.name, three(recorded), target)
	if want := recorded * factor; want > 0 && math.Abs(load/want-1) > otherLoad {
		a.Note("warning: that is %+.0f %% off: users come with all their jobs or not at all, and there are few of "+
			"them, or a few of them have most of the work; another --seed, or a longer --length, is another sample",
			100*(load/want-1))
	}
	if load >= 1 {
		a.Note("warning: that is more than the machine can do: waits grow with the length of the workload, " +
			"and mean nothing")
	}
}
