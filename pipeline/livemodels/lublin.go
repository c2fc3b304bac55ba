package livemodels

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

// lateSubmit is the maximum time by which a submission may lie before the newest one of its queue and still count as an
// arrival. It is not 0, because the records of a log may be out of order by seconds. Older submissions are left out.
// They occur in a log that is in the order in which jobs end. The times between two such records are not the times
// between arrivals.
const lateSubmit = time.Minute

// lublin is the model of Lublin and Feitelson for one queue, as far as it is learnt.
type lublin struct {
	live      *hypergamma.Live
	newest    time.Time // time of the newest submission
	published *LublinView
}

func (l *lublin) submitted(at time.Time, zone *time.Location) error {
	if at.Before(l.newest.Add(-lateSubmit)) {
		return nil
	}
	if l.published = nil; at.After(l.newest) {
		l.newest = at
	}
	return l.live.Submitted(hypergamma.LocalSeconds(at.In(zone)))
}

func (l *lublin) ended(procs int, seconds float64) error {
	l.published = nil
	return l.live.Ended(procs, seconds)
}

// view returns a copy for a machine with the given number of processors. The copy is fitted when its Fit is first
// called.
func (l *lublin) view(machine int) *LublinView {
	if l.published == nil || l.published.machine != machine {
		l.published = &LublinView{live: l.live.Clone(), machine: machine}
	}
	return l.published
}

// code reads or writes the model.
func (l *lublin) code(c *codec.Codec) {
	c.Time(&l.newest)
	if l.live.Code(c); c.Reading {
		l.published = nil
	}
}

// LublinView is the model of Lublin and Feitelson for one queue at one instant. It is fitted only on demand, because a
// fit takes milliseconds and there are dozens of views per second.
type LublinView struct {
	machine int
	once    sync.Once
	live    *hypergamma.Live
	fit     LublinFit
}

// LublinFit is a fitted model. Each of its parts (sizes, runtimes, arrivals) is fitted separately.
type LublinFit struct {
	hypergamma.ModelFit
	// NoSizes, NoRuntimes and NoArrivals are the reasons why these parts are not fitted. The reason is empty if the
	// part is fitted.
	NoSizes, NoRuntimes, NoArrivals string
}

// Err returns the reasons why jobs cannot be drawn from the model: some part is not fitted. It returns nil if all parts
// are fitted.
func (f *LublinFit) Err() error {
	var errs []error
	for _, part := range [...]struct{ name, why string }{
		{"sizes", f.NoSizes}, {"runtimes", f.NoRuntimes}, {"arrivals", f.NoArrivals},
	} {
		if part.why != "" {
			errs = append(errs, errors.New(part.name+": "+part.why))
		}
	}
	return errors.Join(errs...)
}

// Fit returns the fitted model. The first call computes it. It is safe for concurrent use.
func (v *LublinView) Fit() LublinFit {
	v.once.Do(func() {
		fit, err := v.live.Fit(v.machine)
		v.fit.ModelFit, v.live = fit, nil
		v.fit.explain(err)
	})
	return v.fit
}

// explain sets the reasons from the joined errors of a fit. Each error begins with the name of the part that it
// concerns.
func (f *LublinFit) explain(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			f.explain(e)
		}
		return
	}
	if err == nil {
		return
	}
	part, why, _ := strings.Cut(err.Error(), ": ")
	switch why = OneLine(why); part {
	case "sizes":
		f.NoSizes = why
	case "runtimes":
		f.NoRuntimes = why
	default:
		f.NoArrivals = why
	}
}

// OneLine returns the text of joined errors in one line, without the names of packages.
func OneLine(text string) string {
	text = strings.ReplaceAll(text, "\n", "; ")
	for _, name := range [...]string{"hypergamma: ", "lifetime: ", "uniformlog: ", "markov: "} {
		text = strings.ReplaceAll(text, name, "")
	}
	return text
}
