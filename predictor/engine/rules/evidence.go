package rules

import (
	"math"
)

// Evidence has figures that show how well a fitted priority explains the starts. It is immutable.
type Evidence struct {
	// Situations is the number of situations to which the priority was fitted. At is the instant of the newest of
	// them.
	Situations int
	At         float64
	// Loss and FirstCome are the mean losses, at level 0.5, of two forecasts of these situations. Loss follows from
	// the priority, FirstCome from first come, first served with backfilling.
	Loss, FirstCome float64
	// Overtakes counts, for each attribute, how often a younger job goes first because of its value: Less for lower
	// values than the older job's, More for higher ones.
	Overtakes [Attributes]struct{ Less, More Overtakes }
	// Same counts pairs in which the second job differs from the first only in its age.
	Same Overtakes
}

// Overtakes counts pairs of jobs that wait together. The first job of a pair is the older job. The second is a copy of
// it with the age of the younger job and at most one of the younger job's other attributes.
type Overtakes struct {
	// Pairs is the number of pairs. Situations is the number of situations that they come from. First is the number
	// of pairs in which the younger job goes first.
	Pairs, Situations, First int
}

// Share returns the share of the pairs in which the younger job goes first, NaN without pairs.
func (o *Overtakes) Share() float64 { return float64(o.First) / float64(o.Pairs) }

func (o *Overtakes) plus(p *Overtakes) {
	if p.Pairs > 0 {
		o.Situations++
	}
	o.Pairs, o.First = o.Pairs+p.Pairs, o.First+p.First
}

// Attribute is an attribute of a job, other than its age, on which an order can depend.
type Attribute int

// The attributes.
const (
	Limit Attribute = iota
	Size
	ExpectedRuntime
	OwnAhead // jobs of the same user ahead
	QueueWait
	Usage
	Attributes // their number
)

// String returns the attribute as answers write it.
func (a Attribute) String() string {
	names := [...]string{"time_limit", "size", "expected_runtime", "own_jobs_ahead", "queue_wait", "usage"}
	return names[min(max(a, 0), Attributes-1)]
}

// of returns the attribute of a job, on a logarithmic scale.
func (a Attribute) of(j *Job) float64 {
	switch a {
	case Limit:
		return math.Log(60 + float64(j.Limit))
	case Size:
		return math.Log(float64(j.Procs))
	case ExpectedRuntime:
		return math.Log(60 + float64(j.Expected))
	case OwnAhead:
		return math.Log(1 + float64(j.Own))
	case QueueWait:
		return float64(j.QueueWait)
	}
	return math.Log(useScale + float64(j.Use))
}

// take gives a job the attribute of another job.
func (a Attribute) take(j, from *Job) {
	switch a {
	case Limit:
		j.Limit = from.Limit
	case Size:
		j.Procs = from.Procs
	case ExpectedRuntime:
		j.Expected = from.Expected
	case OwnAhead:
		j.Own = from.Own
	case QueueWait:
		j.QueueWait = from.QueueWait
	default:
		j.Use = from.Use
	}
}

// apart is the minimum difference, on the logarithmic scale of an attribute, for which two jobs are compared: a factor
// of two.
const apart = math.Ln2 - 1e-6

// mostPairs is the approximate maximum number of compared pairs of a situation.
const mostPairs = 64

// overtakes compares pairs of the waiting jobs of a situation, with the request as the youngest, and adds the counts to
// e.
func (e *Evidence) overtakes(s *Situation, p *Priority) {
	jobs := append(append(make([]Job, 0, len(s.Waiting)+1), s.Waiting...), s.Request)
	for i := range jobs {
		jobs[i].Limit = float32(jobs[i].plan()) // a copy with another expected runtime keeps this limit
	}
	var one Evidence
	distances := 0
	for d := 1; d < len(jobs); d *= 2 {
		distances++
	}
	stride := max(1, len(jobs)*distances/mostPairs)
	for d := 1; d < len(jobs); d *= 2 {
		for i := 0; i+d < len(jobs); i += stride {
			one.compare(&jobs[i], &jobs[i+d], p)
		}
	}
	e.Same.plus(&one.Same)
	for a := range one.Overtakes {
		e.Overtakes[a].Less.plus(&one.Overtakes[a].Less)
		e.Overtakes[a].More.plus(&one.Overtakes[a].More)
	}
}

// compare compares the score of an older job with the scores of copies of it. Each copy has the age of a younger job,
// and at most one of the younger job's attributes.
func (e *Evidence) compare(older, younger *Job, p *Priority) {
	score := p.Score(older)
	count := func(o *Overtakes, twin *Job) {
		twin.Age = younger.Age
		o.Pairs++
		if p.Score(twin) > score {
			o.First++
		}
	}
	same := *older
	count(&e.Same, &same)
	for a := range Attributes {
		o, difference := &e.Overtakes[a].Less, a.of(younger)-a.of(older)
		if difference > 0 {
			o = &e.Overtakes[a].More
		}
		if math.Abs(difference) >= apart {
			twin := *older
			a.take(&twin, younger)
			count(o, &twin)
		}
	}
}

// evidence returns the evidence for a priority whose loss is known. It returns nil once the fit is cancelled.
func (f *fit) evidence(p *Priority, loss float64) *Evidence {
	e := &Evidence{Situations: len(f.of), Loss: loss, At: f.of[len(f.of)-1].At}
	e.FirstCome = f.loss(&Priority{LogAge: 1}, math.Inf(1))
	for _, s := range f.of {
		e.overtakes(s, p)
	}
	if f.isCancelled() {
		return nil
	}
	return e
}
