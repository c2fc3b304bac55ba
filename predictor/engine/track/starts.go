package track

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
)

// StartRecord is a start whose wait was learned.
type StartRecord struct {
	At, Submit float64 // instants
	Wait       float64 // logarithm of the wait
	Limit      float64 // seconds, 0 for none
	Procs      int
	Queue      int // the queue's code
}

// MostStarts is the maximum number of kept starts. They cover a day on machines like KTH-SP2 and CTC.
const MostStarts = 256

// NewestStarts are the newest starts. Entries are only appended, so a slice returned by Window stays valid.
type NewestStarts struct{ all []StartRecord }

// record appends a start.
func (n *NewestStarts) record(s StartRecord) {
	if len(n.all) >= 2*MostStarts {
		n.all = append(make([]StartRecord, 0, 2*MostStarts), n.all[len(n.all)-MostStarts+1:]...)
	}
	n.all = append(n.all, s)
}

// Window returns the newest starts, the newest one last. It must not be changed.
func (n *NewestStarts) Window() []StartRecord {
	return n.all[max(0, len(n.all)-MostStarts):len(n.all):len(n.all)]
}

// CodeStarts reads or writes the newest starts.
func CodeStarts(s *codec.Codec, all *[]StartRecord) {
	codec.List(s, all, func(r *StartRecord) {
		s.Finite(&r.At, &r.Submit, &r.Wait, &r.Limit)
		s.Int(&r.Procs, &r.Queue)
	})
	if s.Reading && len(*all) > MostStarts {
		s.Fail()
	}
}

// code reads or writes the window. Older entries are needed only by views, which save their own windows.
func (n *NewestStarts) code(s *codec.Codec) {
	if codec.Hand(s, &n.all) {
		if s.Reading {
			n.all = slices.Clip(n.all)
		}
		return
	}
	window := n.Window()
	if CodeStarts(s, &window); s.Reading {
		n.all = window
	}
}

// DecayingSum is an exponentially decaying sum over time. All calls for one sum must use the same memory, which is a
// time in seconds.
type DecayingSum struct{ value, at float64 }

// At returns the sum at an instant.
func (d *DecayingSum) At(now, memory float64) float64 {
	return d.value * math.Exp(-math.Max(0, now-d.at)/memory)
}

func (d *DecayingSum) add(now, x, memory float64) {
	d.value = d.At(now, memory) + x
	d.at = math.Max(d.at, now)
}

func codeSums(s *codec.Codec, all ...*DecayingSum) {
	for _, d := range all {
		s.Finite(&d.value, &d.at)
	}
}

// These are the memories of decaying sums, in seconds.
const (
	TenMinutes = 600.
	Hour       = 3600.
	Day        = 86400.
	Week       = 7 * Day
)

// Flow has the recent submissions and ends on the whole machine.
type Flow struct {
	// EndedSoon and EndedHour are sums of the processors of jobs that ended, with a memory of ten minutes and an
	// hour.
	EndedSoon, EndedHour DecayingSum
	// SubmittedSoon and SubmittedDay are sums over submissions, with a memory of ten minutes and a day.
	SubmittedSoon, SubmittedDay DecayingSum
	LastEnd                     float64 // instant, NaN for none
}

func (f *Flow) submitted(now float64) {
	f.SubmittedSoon.add(now, 1, TenMinutes)
	f.SubmittedDay.add(now, 1, Day)
}

func (f *Flow) ended(now, procs float64) {
	f.EndedSoon.add(now, procs, TenMinutes)
	f.EndedHour.add(now, procs, Hour)
	f.LastEnd = now
}

// CodeFlow reads or writes a Flow.
func CodeFlow(s *codec.Codec, f *Flow) {
	codeSums(s, &f.EndedSoon, &f.EndedHour, &f.SubmittedSoon, &f.SubmittedDay)
	s.Real(&f.LastEnd)
}
