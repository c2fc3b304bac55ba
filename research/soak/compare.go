package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/internal/snapshottest"
	"github.com/waitcast/waitcast/modelstore"
)

// difference is a difference between two databases.
type difference struct {
	What string // journal, ledger, quarantine, or a part of the state
	Text string
}

// sizes has the numbers of compared entries, rows, bad lines and parts of the state.
type sizes struct{ Entries, Rows, Bad, Parts int }

// compare compares all data that two daemons left in their databases. It reads them value by value; only the state is
// held in memory as a whole. Like the daemon's kill test, it leaves out data that depend on when a record was read:
// whether the record was live, the served surface, the wall-clock time (which is also in the message for a line from
// the future), and the name that the log had at that time.
func compare(ctx context.Context, got, want modelstore.Store) (n sizes, differ []difference, err error) {
	note := func(what, text string) {
		if text != "" {
			differ = append(differ, difference{what, text})
		}
	}
	var text string
	if n.Entries, text, err = diffEach(entries(ctx, got), entries(ctx, want)); err != nil {
		return n, nil, err
	}
	note("journal", text)
	if n.Rows, text, err = diffEach(rows(ctx, got), rows(ctx, want)); err != nil {
		return n, nil, err
	}
	note("ledger", text)
	if n.Bad, text, err = diffEach(badLines(ctx, got), badLines(ctx, want)); err != nil {
		return n, nil, err
	}
	note("quarantine", text)
	state, err := diffState(ctx, got, want)
	n.Parts = len(state)
	for name, text := range state {
		note(name, text)
	}
	slices.SortStableFunc(differ, func(a, b difference) int { return bytes.Compare([]byte(a.What), []byte(b.What)) })
	return n, differ, err
}

// errEnough ends the reading of values from a store when no further value is needed.
var errEnough = errors.New("enough") //nolint:gochecknoglobals // never written

// each returns the values that read passes to its function, as texts. The function text must return equal texts for
// equal values.
func each[T any](read func(func(T) error) error, text func(*T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := read(func(x T) error {
			if !yield(text(&x), nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield("", err)
		}
	}
}

func entries(ctx context.Context, s modelstore.Store) iter.Seq2[string, error] {
	return each(func(f func(modelstore.Entry) error) error { return s.Replay(ctx, 0, f) },
		func(e *modelstore.Entry) string {
			e.Event.Live = false
			return fmt.Sprintf("%+v", *e)
		})
}

func rows(ctx context.Context, s modelstore.Store) iter.Seq2[string, error] {
	return each(func(f func(modelstore.Row) error) error { return s.Rows(ctx, modelstore.RowQuery{}, f) },
		func(r *modelstore.Row) string {
			r.Replayed, r.Served = false, 0
			return fmt.Sprintf("%+v", *r) // NaN equals NaN; every other number is printed exactly
		})
}

// badLines returns the lines in quarantine as sorted texts. They are sorted, because within a transaction lines that
// were set aside come first.
func badLines(ctx context.Context, s modelstore.Store) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		all, err := s.BadLines(ctx, 0)
		if err != nil {
			yield("", err)
			return
		}
		texts := make([]string, len(all))
		for i, b := range all {
			b.At, b.Path = time.Time{}, ""
			if b.Reason == collector.ReasonFuture { // the message depends on the time of reading
				b.Message = ""
			}
			texts[i] = fmt.Sprintf("%+v", b)
		}
		slices.Sort(texts)
		for _, text := range texts {
			if !yield(text, nil) {
				return
			}
		}
	}
}

// diffEach compares two sequences. It returns the number of items before the first difference, and a description of the
// difference, "" if there is none.
func diffEach(got, want iter.Seq2[string, error]) (n int, text string, err error) {
	next, stop := iter.Pull2(want)
	defer stop()
	for g, err := range got {
		if err != nil {
			return n, "", err
		}
		w, err, ok := next()
		switch {
		case err != nil:
			return n, "", err
		case !ok:
			return n, fmt.Sprintf("after %d that are the same, one too many: %s", n, short(g)), nil
		case g != w:
			return n, fmt.Sprintf("after %d that are the same\n  undisturbed: %s\n  disturbed:   %s", n, short(w),
				short(g)), nil
		}
		n++
	}
	if w, err, ok := next(); err != nil {
		return n, "", err
	} else if ok {
		return n, fmt.Sprintf("after %d that are the same, missing: %s", n, short(w)), nil
	}
	return n, "", nil
}

func short(text string) string { return text[:min(len(text), 1500)] }

// diffState compares the newest snapshots of two stores. It returns a description of the difference for each part, and
// for the number of the last event; "" if there is none. Models and engine must be equal to the last bit. In JSON parts
// it ignores the live and replayed flags, and the counters of records that changed nothing, because the journal does
// not have them.
func diffState(ctx context.Context, got, want modelstore.Store) (map[string]string, error) {
	g, err := got.Latest(ctx)
	if err != nil {
		return nil, err
	}
	w, err := want.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if g == nil || w == nil {
		return nil, errors.New("no snapshot after an orderly stop")
	}
	diffs := map[string]string{"last event": ""}
	if g.Seq != w.Seq {
		diffs["last event"] = fmt.Sprintf("undisturbed %d, disturbed %d", w.Seq, g.Seq)
	}
	for name := range g.Parts {
		if _, ok := w.Parts[name]; !ok {
			diffs[name] = "only in the disturbed state"
		}
	}
	for name, data := range w.Parts {
		other, ok := g.Parts[name]
		diffs[name] = ""
		switch {
		case !ok:
			diffs[name] = "missing"
		case bytes.Equal(other, data):
		case name == clusterName+"/models", name == clusterName+"/engine":
			diffs[name] = fmt.Sprintf("%d and %d bytes, not the same", len(data), len(other))
		default:
			a, err := snapshottest.Decode(data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			b, err := snapshottest.Decode(other)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			diffs[name] = short(cmp.Diff(a, b))
		}
	}
	return diffs, nil
}
