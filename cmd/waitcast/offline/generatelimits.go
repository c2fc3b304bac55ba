package offline

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/compare"
)

// customs gives generated jobs the users and time limits of a trace. Each generated job copies both from one recorded
// job, which has nearly the same runtime and, if possible, the same size class. So limits keep their round values and
// their distance from the runtimes, and users keep their typical runtimes and limits. The share of jobs with the same
// user as the job before is also that of the trace, as far as that user has a similar recorded job.
//
// Many recorded runtimes are equal to the limits that ended the jobs; generated runtimes are not. So customs first
// draws which share of its limit a generated job uses, with the frequencies of recorded jobs of similar runtime. Then
// the job gets the user and the limit of one of the recorded jobs with that share.
type customs struct {
	rng     *rand.Rand
	byQueue bool
	sorted  map[int64]*customJobs // by queue; all jobs are under swf.Unknown if queues do not matter
	repeat  float64               // probability that a job copies the user of the job before
	last    int64                 // user of the job before
}

// customJobs are recorded jobs by the usage of their limits. Each list is in ascending order of runtime.
type customJobs [usages][]*swf.Record

// usage is a class of the share of its time limit that a job uses.
type usage int

// These are the classes of usage. usageFull: jobs that their limits ended, with runtimes from 3 % below the limit to 10
// % above it (a grace time). usageMost: other jobs that used at least two thirds of their limits. usagePart: all other
// jobs, including those without a limit.
const (
	usageFull usage = iota
	usageMost
	usagePart
	usages
)

// usageOf returns the usage of a recorded job.
func usageOf(rec *swf.Record) usage {
	const late, early, most = 1 / 1.1, 1.03, 1.5
	ratio := float64(rec.TimeLimit) / float64(max(rec.Runtime, 1))
	switch {
	case ratio < late || ratio > most:
		return usagePart
	case ratio > early:
		return usageMost
	}
	return usageFull
}

// newCustoms returns the customs of the jobs of a trace. If byQueue is true, a job copies only from jobs of its own
// queue.
func newCustoms(r *recording, byQueue bool, rng *rand.Rand) *customs {
	h := &customs{rng: rng, byQueue: byQueue, sorted: map[int64]*customJobs{}, last: swf.Unknown}
	for i := range r.records {
		rec := &r.records[i]
		queue := h.queue(rec)
		jobs := h.sorted[queue]
		if jobs == nil {
			jobs = new(customJobs)
			h.sorted[queue] = jobs
		}
		used := usageOf(rec)
		jobs[used] = append(jobs[used], rec)
	}
	h.repeat = repeats(r.records)
	for _, jobs := range h.sorted {
		for _, list := range jobs {
			slices.SortStableFunc(list, func(a, b *swf.Record) int { return cmp.Compare(a.Runtime, b.Runtime) })
		}
	}
	return h
}

// drawUsage draws a class of usage and returns the recorded jobs of that class. The probabilities are the frequencies
// among recorded jobs whose runtime is 2/3 to 3/2 of the given one or, if there are no such jobs, among all.
func (j *customJobs) drawUsage(runtime int64, rng *rand.Rand) []*swf.Record {
	const about = 1.5
	var count [usages]int
	all := 0
	for used, jobs := range j {
		from, _ := slices.BinarySearchFunc(jobs, float64(runtime)/about, compareRuntime)
		to, _ := slices.BinarySearchFunc(jobs, float64(runtime)*about, compareRuntime)
		count[used] = to - from
		all += to - from
	}
	if all == 0 {
		for used, jobs := range j {
			count[used] = len(jobs)
			all += len(jobs)
		}
	}
	at := rng.IntN(all)
	for used, n := range count {
		if at -= n; at < 0 {
			return j[used]
		}
	}
	return nil // cannot happen: the counts add up to the total
}

func compareRuntime(rec *swf.Record, runtime float64) int {
	return cmp.Compare(float64(rec.Runtime), runtime)
}

// customsFor returns the customs of the trace that --limits names or, without that flag, of the trace to which the
// model is fitted. It returns nil if there is no such trace, or for --no-limits.
func (a *Commands) customsFor(s *synthetic, f *GenerateFlags) (*customs, error) {
	switch {
	case f.limits != "":
		r, err := a.record(f.limits)
		if err != nil {
			return nil, err
		}
		if _, err := f.choice.choose(r); err != nil {
			return nil, err
		}
		return newCustoms(r, false, f.seed.rng('u')), nil
	case s.trace != nil && !f.noLimits:
		return newCustoms(s.trace, f.Model == modelUniformLog, f.seed.rng('u')), nil
	}
	return nil, nil //nolint:nilnil // there are none
}

// repeats returns the excess probability that a job has the same user as the job before: 0 if users are drawn
// independently (or if there is only one), near 1 if each user's jobs come one after the other.
func repeats(records []swf.Record) float64 {
	same, chance, jobs := 0.0, 0.0, map[int64]float64{}
	n := float64(len(records))
	for i := range records {
		if jobs[records[i].User]++; i > 0 && records[i].User == records[i-1].User {
			same += 1 / (n - 1)
		}
	}
	for _, of := range jobs {
		chance += of / n * of / n
	}
	if len(jobs) < 2 {
		return 0
	}
	return max(0, (same-chance)/(1-chance))
}

func (h *customs) queue(rec *swf.Record) int64 {
	if h.byQueue {
		return rec.Queue
	}
	return swf.Unknown
}

// These bound the search for similar jobs. On either side of the generated runtime nearJobs recorded jobs count as
// similar, or the part 1/nearShare of all jobs if that is more. customDraws of these are drawn, and the best of them is
// used.
const (
	nearJobs, nearShare = 10, 500
	customDraws         = 48
	againDraws          = 200 // number of draws if the job should have the user of the job before
	nearPart            = 100 // the allowed difference is 1/nearPart of the runtime
)

// give sets the user, the group and the time limit of a generated job. It sets nothing if the trace has no job of the
// same queue and queues matter.
func (h *customs) give(job *swf.Record) {
	recorded := h.sorted[h.queue(job)]
	if recorded == nil {
		return
	}
	best := h.choose(recorded.drawUsage(job.Runtime, h.rng), job)
	job.User, job.Group, job.TimeLimit = best.User, best.Group, best.TimeLimit
	if inLimit(best.Runtime, best) && !inLimit(job.Runtime, best) {
		job.TimeLimit = job.Runtime
	}
	h.last = job.User
}

// choose draws a recorded job that resembles a generated one. The candidates have nearly the same runtime. With a
// candidate's limit, the generated job should be within the limit if the candidate itself was, and near the limit if
// the candidate was. If possible the candidate also has the same size class and, with probability h.repeat, the user of
// the job before.
func (h *customs) choose(jobs []*swf.Record, job *swf.Record) (best *swf.Record) {
	from, _ := slices.BinarySearchFunc(jobs, float64(job.Runtime), compareRuntime)
	to, _ := slices.BinarySearchFunc(jobs, float64(job.Runtime+1), compareRuntime)
	near := max(nearJobs, len(jobs)/nearShare)
	from, to = max(0, from-near), min(len(jobs), to+near)
	again := h.last >= 0 && h.rng.Float64() < h.repeat
	bestRank, bestOff := -1, int64(0)
	draws := customDraws
	if again {
		draws = againDraws
	}
	for range draws {
		rec := jobs[from+h.rng.IntN(to-from)]
		rank, full := 0, 13
		if inLimit(rec.Runtime, rec) == inLimit(job.Runtime, rec) {
			rank += 8
		}
		off := int64(0)
		switch usageOf(rec) {
		case usageFull:
			off = max(rec.TimeLimit-job.Runtime, job.Runtime-rec.TimeLimit)
		case usageMost:
			off = max(rec.Runtime-job.Runtime, job.Runtime-rec.Runtime)
		}
		if off*nearPart <= job.Runtime {
			rank += 4
		}
		if again {
			full = 15
			if rec.User == h.last {
				rank += 2
			}
		}
		if sizeClass(rec) == sizeClass(job) {
			rank++
		}
		if rank > bestRank || rank == bestRank && off < bestOff {
			best, bestRank, bestOff = rec, rank, off
		}
		if off == 0 && rank == full {
			break
		}
	}
	return best
}

// inLimit reports whether a runtime is within a job's time limit. It returns true if the job has no limit.
func inLimit(runtime int64, rec *swf.Record) bool {
	return rec.TimeLimit <= 0 || runtime <= rec.TimeLimit
}

// sizeClass returns the class of a size. Class k has the sizes from 2^(k-1) to 2^k - 1.
func sizeClass(rec *swf.Record) int { return bits.Len64(uint64(max(rec.Procs(), 0))) }

// drawnSample has the sizes and runtimes of the first generated jobs.
type drawnSample struct{ procs, seconds []float64 }

// mostSampled is the maximum number of jobs in a drawnSample.
const mostSampled = 100_000

func (s *drawnSample) add(procs int, seconds float64) {
	if len(s.procs) < mostSampled {
		s.procs, s.seconds = append(s.procs, float64(procs)), append(s.seconds, seconds)
	}
}

// distances are the differences between generated and recorded jobs.
type distances struct {
	ProcsKS   float64 `json:"procs_ks"`
	RuntimeKS float64 `json:"runtime_ks"`
}

// badFit is the KS distance above which a fit causes a warning. The papers print no larger distance than 0.09 for
// models that they accept (Lublin and Feitelson, Tables 1, 2, 5 and 6; Song, Table 4).
const badFit = .1

// from returns the distances between the sample and the jobs of a trace.
func (s *drawnSample) from(r *recording) (d distances, err error) {
	var recorded drawnSample
	for i := range r.records {
		rec := &r.records[i]
		recorded.procs = append(recorded.procs, float64(rec.Procs()))
		recorded.seconds = append(recorded.seconds, float64(max(rec.Runtime, 1))) // at least 1 s, as for generated jobs
	}
	if d.ProcsKS, err = compare.KS(s.procs, recorded.procs); err != nil {
		return d, err
	}
	d.RuntimeKS, err = compare.KS(s.seconds, recorded.seconds)
	return d, err
}

// bad describes which attributes have a bad fit. It returns an empty text if there is none.
func (d *distances) bad() string {
	text := ""
	for _, x := range []struct {
		name string
		ks   float64
	}{{"sizes", d.ProcsKS}, {"runtimes", d.RuntimeKS}} {
		if x.ks <= badFit {
			continue
		}
		if text != "" {
			text += " and "
		}
		text += fmt.Sprintf("%s are %.2f", x.name, x.ks)
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("the model does not fit this log: by KS its %s from the recorded ones; the papers' own fits "+
		"are within 0.09", text)
}

// noteDistance reports the distances between generated jobs and the jobs of the trace, and warns of a bad fit.
func (a *Commands) noteDistance(s *drawnSample, r *recording) error {
	if r == nil || len(s.procs) == 0 || len(r.records) == 0 {
		return nil
	}
	d, err := s.from(r)
	if err != nil {
		return err
	}
	a.Note("KS distance from the recorded jobs: sizes %.3f, runtimes %.3f", d.ProcsKS, d.RuntimeKS)
	if bad := d.bad(); bad != "" {
		a.Note("warning: %s", bad)
	}
	return nil
}
