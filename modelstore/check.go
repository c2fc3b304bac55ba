package modelstore

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waitcast/waitcast/job"
)

// MinTime is the earliest instant that can be stored. The nanoseconds since 1970 of an instant must fit in 64 bits
// (time.Time.UnixNano).
func MinTime() time.Time { return time.Unix(0, math.MinInt64).UTC() }

// MaxTime is the latest instant that can be stored. See MinTime.
func MaxTime() time.Time { return time.Unix(0, math.MaxInt64).UTC() }

// Check returns an *InvalidError if the entry cannot be stored. The causes are: its number is below 1; its kind is not
// a kind of package job; its cluster or id is empty or not text; its source is not text; its attempt is negative; its
// time is unknown; an instant is out of range.
func (e *Entry) Check() error {
	switch ev := &e.Event; {
	case e.Seq < 1:
		return e.invalid("number", "is below 1")
	case ev.Kind < job.Submit || ev.Kind > job.Machine:
		return e.invalid("kind", "is unknown")
	case ev.Cluster == "" || !isText(ev.Cluster):
		return e.invalid("cluster", "is empty or not UTF-8 text")
	case ev.ID == "" || !isText(ev.ID):
		return e.invalid("job id", "is empty or not UTF-8 text")
	case !isText(e.Source):
		return e.invalid("source", "is not UTF-8 text")
	case ev.Attempt < 0:
		return e.invalid("attempt", "is negative")
	case ev.Time.IsZero():
		return e.invalid("time", "is unknown")
	}
	for _, at := range [...]time.Time{
		e.Event.Time, e.Event.Times.Submit, e.Event.Times.Eligible, e.Event.Times.Start, e.Event.Times.End,
	} {
		if !inRange(at) {
			return e.invalid("time", fmt.Sprintf("%v is out of range", at))
		}
	}
	return nil
}

func (e *Entry) invalid(field, problem string) error {
	what := fmt.Sprintf("entry %d (%q job %q attempt %d %v)", e.Seq, e.Event.Cluster, e.Event.ID, e.Event.Attempt,
		e.Event.Kind)
	return &InvalidError{What: what, Field: field, Problem: problem}
}

// Check returns an *InvalidError if the row contradicts the rules in the comments of its fields.
func (r *Row) Check() error {
	switch {
	case r.Seq < 1:
		return r.invalid("number", "is below 1")
	case r.Cluster == "" || !isText(r.Cluster):
		return r.invalid("cluster", "is empty or not UTF-8 text")
	case r.JobID == "" || !isText(r.JobID):
		return r.invalid("job id", "is empty or not UTF-8 text")
	case r.Attempt < 0:
		return r.invalid("attempt", "is negative")
	case r.Submit.IsZero() || !inRange(r.Submit):
		return r.invalid("submit", "is unknown or out of range")
	case r.Outcome != Started && r.Outcome != Cancelled:
		return r.invalid("outcome", fmt.Sprintf("is %q, not %q or %q", r.Outcome, Started, Cancelled))
	case r.Start.IsZero() == (r.Outcome == Started) || !inRange(r.Start):
		return r.invalid("start", "contradicts the outcome "+r.Outcome+" or is out of range")
	case !(r.WaitSeconds >= 0) || math.IsInf(r.WaitSeconds, 0):
		return r.invalid("wait", fmt.Sprintf("of %v s is not a finite number of at least 0", r.WaitSeconds))
	case !inRange(r.Submit.Add(time.Duration(math.Min(r.WaitSeconds, maxSeconds)*float64(time.Second)))) ||
		r.WaitSeconds > maxSeconds:
		return r.invalid("wait", fmt.Sprintf("of %v s is out of range", r.WaitSeconds))
	case len(r.Levels) != len(r.Quantiles):
		return r.invalid("quantiles",
			fmt.Sprintf("number %d, but there are %d levels", len(r.Quantiles), len(r.Levels)))
	}
	if err := r.checkParts(); err != nil {
		return err
	}
	for i, p := range r.Peers {
		switch {
		case p.Method == "" || !isText(p.Method):
			return r.invalid("peer", fmt.Sprintf("number %d has no name of UTF-8 text", i))
		case slices.ContainsFunc(r.Peers[:i], func(q Peer) bool { return q.Method == p.Method }):
			return r.invalid("peer", fmt.Sprintf("%q is there twice", p.Method))
		case len(p.Quantiles) != len(r.Levels):
			return r.invalid("peer",
				fmt.Sprintf("%q has %d quantiles, but there are %d levels", p.Method, len(p.Quantiles), len(r.Levels)))
		}
	}
	return nil
}

// checkParts checks the parts of the wait.
func (r *Row) checkParts() error {
	p := r.Parts
	switch {
	case p == nil:
		return nil
	case !(p.BlockedSeconds >= 0) || p.BlockedSeconds > r.WaitSeconds:
		return r.invalid("blocked wait",
			fmt.Sprintf("of %v s is no part of the wait of %v s", p.BlockedSeconds, r.WaitSeconds))
	case len(p.Blocked) != len(p.Eligible) || len(p.Blocked) != 0 && len(p.Blocked) != len(r.Levels):
		return r.invalid("quantiles of its parts", fmt.Sprintf("number %d and %d, but there are %d levels",
			len(p.Blocked), len(p.Eligible), len(r.Levels)))
	}
	return nil
}

// maxSeconds is the longest wait in seconds that can be stored. It is a little less than 292 years, the maximum of a
// time.Duration.
const maxSeconds = 9.2e9

func (r *Row) invalid(field, problem string) error {
	what := fmt.Sprintf("ledger row %d (%q job %q attempt %d)", r.Seq, r.Cluster, r.JobID, r.Attempt)
	return &InvalidError{What: what, Field: field, Problem: problem}
}

// Check returns an *InvalidError if the snapshot cannot be stored. lastSeq is the last number of the journal.
func (s *Snapshot) Check(lastSeq int64) error {
	what := fmt.Sprintf("snapshot %d", s.Seq)
	switch {
	case s.Seq < 0:
		return &InvalidError{What: what, Field: "number", Problem: "is negative"}
	case s.Seq > lastSeq:
		return &InvalidError{What: what, Field: "number",
			Problem: fmt.Sprintf("is past the journal's last, %d", lastSeq)}
	case s.At.IsZero() || !inRange(s.At):
		return &InvalidError{What: what, Field: "time", Problem: "is unknown or out of range"}
	}
	for _, name := range s.names() {
		if name == "" || !isText(name) {
			return &InvalidError{What: what, Field: fmt.Sprintf("part %q", name), Problem: "has no name of UTF-8 text"}
		}
	}
	return nil
}

// inRange reports whether t is unknown or can be stored.
func inRange(t time.Time) bool {
	return t.IsZero() || !t.Before(MinTime()) && !t.After(MaxTime())
}

// isText reports whether every store can hold s. PostgreSQL accepts only UTF-8 without NUL.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
