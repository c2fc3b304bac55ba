package pipeline

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// savedLedger holds the forecasts in one table, and the surfaces that are still needed with the jobs in them in another.
type savedLedger struct {
	Instant  time.Time         `json:"instant"`
	Opens    []*open           `json:"opens"`
	Pending  []int             `json:"pending"`
	Late     []int             `json:"late"`
	Open     []int             `json:"open"`
	Jobs     []*cluster.Job    `json:"jobs"`
	Facts    []*job.Facts      `json:"facts,omitempty"`
	Surfaces []savedSurface    `json:"surfaces"`
	Curves   []*drawn          `json:"curves,omitempty"` // of the surfaces' laws
	Of       []int             `json:"of"`               // by open: its surface, -1 if it needs none
	Current  int               `json:"current"`          // the current surface, -1 if there is none
	Scores   map[string]*Score `json:"scores"`
}

// MarshalBinary saves open forecasts and scores: the same ledger gives the same bytes.
func (l *ledger) MarshalBinary() ([]byte, error) {
	var opens table[open]
	var jobs table[cluster.Job]
	var facts table[job.Facts]
	var curves table[drawn]
	waiting := make([]*open, 0, len(l.open))
	for _, o := range l.open {
		waiting = append(waiting, o)
	}
	slices.SortFunc(waiting, byPlace)
	out := savedLedger{
		Instant: l.instant.UTC(), Scores: l.scores,
		Pending: opens.number(l.pending), Late: opens.number(l.late), Open: opens.number(waiting),
	}
	numbers := map[*surface]int{}
	number := func(f *surface) int {
		if f == nil {
			return -1
		}
		n, ok := numbers[f]
		if !ok {
			n = len(out.Surfaces)
			numbers[f] = n
			out.Surfaces = append(out.Surfaces, f.save(&jobs, &opens, &facts, &curves))
		}
		return n
	}
	for i := 0; i < len(opens.all); i++ { // a surface may name more
		out.Of = append(out.Of, number(opens.all[i].Surface))
	}
	out.Current = number(l.surface)
	for i := len(out.Of); i < len(opens.all); i++ {
		out.Of = append(out.Of, number(opens.all[i].Surface))
	}
	out.Opens, out.Jobs, out.Facts, out.Curves = opens.all, jobs.all, facts.all, curves.all
	return json.Marshal(out)
}

// byPlace orders the forecasts of waiting jobs: by the order of submission, the tasks of an array after it.
func byPlace(a, b *open) int {
	if o := byOrder(&a.Job, &b.Job); o != 0 || a.Part == b.Part {
		return o
	}
	if b.Part {
		return -1
	}
	return 1
}

var errLedger = errors.New("saved ledger: a number points nowhere")

// UnmarshalBinary restores what MarshalBinary saved.
func (l *ledger) UnmarshalBinary(data []byte) error {
	var in savedLedger
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	fresh := newLedger(l.cluster)
	fresh.instant = in.Instant
	if slices.ContainsFunc(in.Curves, func(c *drawn) bool { return c == nil || !c.sound() }) {
		return errLedger
	}
	surfaces := make([]*surface, len(in.Surfaces))
	for i := range in.Surfaces {
		f, ok := in.Surfaces[i].restore(in.Jobs, in.Opens, in.Facts, in.Curves)
		if !ok {
			return errLedger
		}
		surfaces[i] = f
	}
	at := func(n int) *surface {
		if n < 0 || n >= len(surfaces) {
			return nil
		}
		return surfaces[n]
	}
	if len(in.Of) != len(in.Opens) {
		return errLedger
	}
	for i, o := range in.Opens {
		o.Surface = at(in.Of[i])
		if o.Surface != nil && o.Place > len(o.Surface.Later) {
			return errLedger
		}
	}
	fresh.surface = at(in.Current)
	var ok [3]bool
	var waiting []*open
	fresh.pending, ok[0] = pickAll(in.Opens, in.Pending)
	fresh.late, ok[1] = pickAll(in.Opens, in.Late)
	waiting, ok[2] = pickAll(in.Opens, in.Open)
	if ok != [3]bool{true, true, true} {
		return errLedger
	}
	for _, o := range waiting {
		fresh.open[o.Job.ID] = o
	}
	for queue, s := range in.Scores {
		fresh.scores[queue] = s
	}
	*l = *fresh
	return nil
}
