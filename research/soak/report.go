package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
)

// Report is the result of a soak.
type Report struct {
	o               Options
	about, skipped  string
	clients         clients
	tally           tally
	rotation        rotation
	bytes           int64
	count           map[string]int
	said            map[string]int
	disturbed, calm watch
	took, calmTook  time.Duration
	levels, still   []level
	compared        sizes
	differ          []difference
	counted         map[string]float64 // bad lines by reason, as the undisturbed daemon counted them
	kept            map[string]int     // bad lines by reason, as in the quarantine of the undisturbed daemon
	// Misses are descriptions of the conditions that did not hold. It is empty if the soak has succeeded.
	Misses []string
}

// calm lets an undisturbed daemon read the same log, and compares the data of the two daemons. If Options.Calm is set,
// there is no other daemon, and nothing is compared.
func (s *run) calm(ctx context.Context, r *Report) (err error) {
	quiet := &plainFile{filepath.Join(s.o.Dir, "calm")}
	config := filepath.Join(s.o.Dir, "calm.yaml")
	if err := s.configure(config, quiet, "calm", 5*time.Minute); err != nil {
		return err
	}
	begun := time.Now()
	p, err := spawn(ctx, s.o.Program, config, &messages{})
	if err != nil {
		return err
	}
	s.program = p
	if err := p.serving(ctx, s.o.Patience); err != nil {
		return err
	}
	for last := time.Now(); !p.ready(ctx, false); wait(ctx, 200*time.Millisecond) {
		select {
		case <-p.gone:
			return fmt.Errorf("the undisturbed daemon ended by itself: %w\n%s", p.err, p.lastWords())
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if time.Since(last) < time.Second {
			continue
		}
		last = time.Now()
		s.lookCalm(ctx, r, p)
	}
	r.calmTook = time.Since(begun)
	m := s.lookCalm(ctx, r, p)
	r.counted = map[string]float64{}
	for _, reason := range collector.Reasons() {
		if n, _ := total(m, "waitcast_bad_lines_total", fmt.Sprintf("reason=%q", reason)); n > 0 {
			r.counted[reason] = n
		}
	}
	if r.still, err = accuracy(ctx, p, s.o.Days); err != nil {
		return err
	}
	s.program = nil
	if err := p.stop(s.o.Patience); err != nil {
		return err
	}
	return s.compare(ctx, r, quiet)
}

// lookCalm takes a sample of the undisturbed daemon, and returns its metrics. They show how many lines of the log the
// daemon has read.
func (s *run) lookCalm(ctx context.Context, r *Report, p *process) map[string]float64 {
	m := r.calm.look(ctx, p, 0, 0)
	if n := len(r.calm.samples); n > 0 {
		last := &r.calm.samples[n-1]
		lines, _ := total(m, "waitcast_tail_lines_total", "")
		last.Lines = int64(lines)
		last.Day = float64(last.Lines) / float64(max(1, s.m.tally.Lines)) * s.day()
	}
	return m
}

func (s *run) compare(ctx context.Context, r *Report, quiet database) (err error) {
	want, err := quiet.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, want.Close()) }()
	bad, err := want.BadLines(ctx, 0)
	if err != nil {
		return err
	}
	r.kept = map[string]int{}
	for i := range bad {
		r.kept[bad[i].Reason]++
	}
	if s.o.Calm {
		return nil
	}
	got, err := s.db.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, got.Close()) }()
	r.compared, r.differ, err = compare(ctx, got, want)
	return err
}

// level has the coverage of one quantile over all queues, after the first tenth of the simulated time. Low and High are
// the bounds of the coverage, P the level, N the number of forecasts.
type level struct {
	Name      string
	P         float64
	Low, High float64
	N         int64
}

// tolerance is the maximum distance between a level and the interval of its coverage, as in docs/accuracy.md.
const tolerance = .02

func (l *level) miss() float64 { return max(0, l.P-l.High, l.Low-l.P) }

// accuracy requests the coverage of forecasts by level from a daemon, and returns it for live and replayed forecasts
// together.
func accuracy(ctx context.Context, p *process, days int) ([]level, error) {
	since := epoch().Add(time.Duration(float64(days) * daySeconds / 10 * float64(time.Second)))
	var a wire.Accuracy
	body := p.body(ctx, "/v1/accuracy?since="+url.QueryEscape(since.Format(time.RFC3339)))
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		return nil, fmt.Errorf("/v1/accuracy: %w: %s", err, short(body))
	}
	by := map[string]*level{}
	for _, g := range a.Groups {
		if g.Queue != "" || g.SizeClass != "" || len(g.Methods) == 0 || g.Methods[0].Method != "waitcast" {
			continue
		}
		n := g.Methods[0].N
		for name, c := range g.Methods[0].Coverage {
			l := by[name]
			if l == nil {
				l = &level{Name: name}
				by[name] = l
			}
			l.Low, l.High, l.N = l.Low+c[0]*float64(n), l.High+c[1]*float64(n), l.N+n
		}
	}
	var out []level
	for _, name := range slices.Sorted(maps.Keys(by)) {
		l := by[name]
		if l.N == 0 {
			continue
		}
		p, err := strconv.ParseFloat(name, 64)
		if err != nil {
			return nil, fmt.Errorf("/v1/accuracy: level %q: %w", name, err)
		}
		out = append(out, level{name, p, l.Low / float64(l.N), l.High / float64(l.N), l.N})
	}
	return out, nil
}

// windowsFull is the number of jobs after which the windows of the models are full, so that memory must not grow any
// more.
const windowsFull = 200_000

func (r *Report) judge() {
	miss := func(format string, args ...any) { r.Misses = append(r.Misses, fmt.Sprintf(format, args...)) }
	for _, d := range r.differ {
		miss("%s differs: %s", d.What, d.Text)
	}
	if !r.o.Calm && (r.compared.Entries == 0 || r.compared.Rows == 0 && r.o.Format != "slurm-jobcomp" ||
		r.compared.Bad == 0 || r.compared.Parts == 0) {
		miss("there was nothing to compare: %+v", r.compared)
	}
	for reason, n := range r.tally.Bad {
		if int(r.counted[reason]) != n || r.kept[reason] != n {
			miss("bad lines (%s): %d were written, %.0f counted, %d quarantined", reason, n, r.counted[reason],
				r.kept[reason])
		}
	}
	for reason, n := range r.counted {
		if r.tally.Bad[reason] == 0 {
			miss("bad lines (%s): none was written, %.0f counted", reason, n)
		}
	}
	for _, w := range r.watches() {
		rules := grows()
		if r.o.Jobs >= windowsFull {
			rules = append(rules, memoryGrows())
		}
		for _, b := range rules {
			if text, ok := w.growth(b); !ok && !r.o.Mild {
				miss("%s: growth of %s", w.name, text)
			}
		}
		if peak := w.peak(); peak > float64(r.o.Memory) && !r.o.Mild {
			miss("%s: memory: %.1f MiB resident at most, the limit is %.1f MiB", w.name, peak/mib,
				float64(r.o.Memory)/mib)
		}
	}
	if r.tally.Floods == 0 && r.o.Days > firstFloodDay {
		miss("nobody flooded the queue")
	}
	r.clients.judge(r.o.Mild, miss)
	r.calibrated(miss)
}

type named struct {
	*watch
	name string
}

func (r *Report) watches() []named {
	if r.o.Calm {
		return []named{{&r.calm, "undisturbed"}}
	}
	return []named{{&r.disturbed, "disturbed"}, {&r.calm, "undisturbed"}}
}

func (r *Report) calibrated(miss func(string, ...any)) {
	if r.o.Mild || r.o.Format == "slurm-jobcomp" { // jobcomp has only ended jobs, which have no forecasts
		return
	}
	if len(r.still) == 0 {
		miss("no forecast was scored")
	}
	for _, l := range append(slices.Clone(r.levels), r.still...) {
		if l.miss() > tolerance {
			miss("calibration: level %s covered %.3f - %.3f", l.Name, l.Low, l.High)
		}
	}
}

// Write writes the report as text.
func (r *Report) Write(out io.Writer) {
	fmt.Fprintf(out, "\nseed %d: %d jobs in %d days on %d nodes, %s, %s, %s\n%s\n", r.o.Seed, r.tally.Jobs, r.o.Days,
		r.o.Nodes, r.o.Format, r.o.Style, r.o.Store, r.about)
	t := &r.tally
	fmt.Fprintf(out, "the log: %d lines, %.1f MiB, %d of them twice; %d jobs cancelled, %d crashes requeued %d, %d "+
		"steps of the clock, %d pauses, %d floods of the queue with %d jobs and arrays; busy %.2f; rotations: %v\n",
		t.Lines, float64(r.bytes)/mib, t.Repeated, t.Cancelled, t.Crashes, t.Requeued, t.Steps, t.Pauses, t.Floods,
		t.Flooding, t.Busy/(float64(r.o.Days)*daySeconds*float64(r.o.Nodes)), r.rotation)
	tell := func(what string, m map[string]int) {
		fmt.Fprintf(out, "%s:\n", what)
		for _, key := range slices.Sorted(maps.Keys(m)) {
			fmt.Fprintf(out, "  %7d  %s\n", m[key], key)
		}
	}
	tell("bad lines written", t.Bad)
	if r.skipped != "" {
		fmt.Fprintln(out, r.skipped)
	}
	if !r.o.Calm {
		tell("what befell the daemon", r.count)
		tell("what it said about it", r.said)
		fmt.Fprintln(out, &r.clients)
		fmt.Fprintf(out, "compared: %d entries of the journal, %d rows of the ledger, %d bad lines, %d parts of the "+
			"state; %d differ\n",
			r.compared.Entries, r.compared.Rows, r.compared.Bad, r.compared.Parts, len(r.differ))
	}
	for _, w := range r.watches() {
		fmt.Fprintf(out, "\n%s (the greatest of each tenth):\n", w.name)
		w.table(out)
		for _, b := range append(grows(), memoryGrows()) {
			text, _ := w.growth(b)
			fmt.Fprintf(out, "  %s\n", text)
		}
	}
	fmt.Fprintf(out, "\ntime: disturbed %v, undisturbed %v (%.0f jobs/s)\n", r.took.Round(time.Second),
		r.calmTook.Round(time.Second), float64(t.Jobs)/r.calmTook.Seconds())
	for _, l := range r.still {
		fmt.Fprintf(out, "covered at level %s: %.3f - %.3f of %d\n", l.Name, l.Low, l.High, l.N)
	}
	for _, m := range r.Misses {
		fmt.Fprintf(out, "MISS: %s\n", m)
	}
	if len(r.Misses) == 0 {
		fmt.Fprintf(out, "all held\n")
	}
}
