// Package transfer copies a store into another store of any kind, and compares the two.
package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"time"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/internal/pack"
)

// UnfinishedKey is the key of a value that marks a store as incomplete. The store has the value while data are copied
// into it, and after an interrupted copy. The value is a checksum of the source's last number, number of rows, values
// and list of histories. A daemon must not collect into such a store.
const UnfinishedKey = "transfer.unfinished"

// batchSize is the number of entries or rows that are copied in one transaction.
const batchSize = 1000

// NotEmptyError reports that the target of a copy is not empty.
type NotEmptyError struct {
	// LastSeq is the sequence number of the last event in the target. Meta is how many values the target has.
	LastSeq int64
	Meta    int
}

// Error implements error.
func (e *NotEmptyError) Error() string {
	return fmt.Sprintf(
		"the target of the copy is not empty (last event %d, %d values): give a new file or another space",
		e.LastSeq, e.Meta)
}

// MismatchError reports that the target differs from the source after a copy.
type MismatchError struct{ Source, Target *Summary }

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the copy differs from its source: the source has %v, the copy %v", e.Source, e.Target)
}

// Progress is the progress of a copy.
type Progress struct {
	// Stage is "journal", "ledger", "histories", "rest" or "compare". Done is the number of processed entries, rows or
	// chunks. Total is the number of all of them, or 0 if unknown.
	Stage       string
	Done, Total int64
}

// Copy copies the whole content of source into target, and then compares the two (*MismatchError). target must be
// empty, or have a part of the content from an interrupted copy of the same source; otherwise Copy returns a
// *NotEmptyError. No process may write either store meanwhile. progress may be nil. An interrupted copy can be
// repeated and continues where it stopped.
func Copy(ctx context.Context, target, source modelstore.Portable, progress func(Progress)) (*Summary, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	last, err := source.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	mark, err := begin(ctx, target, source, last)
	if err != nil {
		return nil, err
	}
	if err := copyJournal(ctx, target, source, last, progress); err != nil {
		return nil, fmt.Errorf("copy the journal: %w", err)
	}
	if err := copyRows(ctx, target, source, progress); err != nil {
		return nil, fmt.Errorf("copy the ledger: %w", err)
	}
	if err := copyHistories(ctx, target, source, progress); err != nil {
		return nil, fmt.Errorf("copy the histories: %w", err)
	}
	progress(Progress{Stage: "rest"})
	if err := copyRest(ctx, target, source, last); err != nil {
		return nil, err
	}
	want, err := Summarize(ctx, source, progress)
	if err != nil {
		return nil, fmt.Errorf("read the source again: %w", err)
	}
	got, err := Summarize(ctx, target, progress)
	if err != nil {
		return nil, fmt.Errorf("read the copy: %w", err)
	}
	if *got != *want {
		return nil, &MismatchError{Source: want, Target: got}
	}
	if value, err := target.Meta(ctx, UnfinishedKey); err != nil || value != mark {
		return nil, errors.Join(fmt.Errorf("the target was changed meanwhile: its mark is %q", value), err)
	}
	return got, target.SetMeta(ctx, UnfinishedKey, "")
}

// begin checks that the target is empty or has a part of the same copy, and marks it as incomplete. It returns the
// mark.
func begin(ctx context.Context, target, source modelstore.Portable, last int64) (string, error) {
	rows, err := source.CountRows(ctx, modelstore.RowQuery{})
	if err != nil {
		return "", err
	}
	theirs, err := source.AllMeta(ctx)
	if err != nil {
		return "", err
	}
	if theirs[UnfinishedKey] != "" {
		return "", errors.New("the source is itself the unfinished target of a copy: finish that first")
	}
	h := newDigest()
	h.put(last, rows, fmt.Sprint(theirs))
	histories, err := source.Histories(ctx)
	if err != nil {
		return "", err
	}
	if len(histories) > 0 { // without histories the mark equals that of versions that had none
		h.put(fmt.Sprint(histories))
	}
	mark := h.sum()
	ours, err := target.AllMeta(ctx)
	if err != nil {
		return "", err
	}
	if ours[UnfinishedKey] == mark {
		return mark, nil
	}
	if err := mustBeEmpty(ctx, target, len(ours)); err != nil {
		return "", err
	}
	return mark, target.SetMeta(ctx, UnfinishedKey, mark)
}

// mustBeEmpty returns a *NotEmptyError if the target is not empty. values is the number of values that the target
// has.
func mustBeEmpty(ctx context.Context, target modelstore.Portable, values int) error {
	last, err := target.LastSeq(ctx)
	if err != nil {
		return err
	}
	ledger, err := target.CountRows(ctx, modelstore.RowQuery{})
	if err != nil {
		return err
	}
	checkpoints, err := target.Checkpoints(ctx)
	if err != nil {
		return err
	}
	models, err := target.Models(ctx)
	if err != nil {
		return err
	}
	bad, err := target.CountBadLines(ctx)
	if err != nil {
		return err
	}
	histories, err := target.Histories(ctx)
	if err != nil {
		return err
	}
	if last != 0 || ledger != 0 || bad != 0 || values+len(checkpoints)+len(models)+len(histories) != 0 {
		return &NotEmptyError{LastSeq: last, Meta: values}
	}
	return nil
}

// copyJournal copies the entries that are missing in the target.
func copyJournal(ctx context.Context, target, source modelstore.Portable, last int64, progress func(Progress)) error {
	have, err := target.LastSeq(ctx)
	if err != nil {
		return err
	}
	var b modelstore.Batch
	flush := func() error {
		if len(b.Entries) == 0 {
			return nil
		}
		if err := target.Load(ctx, b, modelstore.Position{}); err != nil {
			return err
		}
		progress(Progress{Stage: "journal", Done: b.Entries[len(b.Entries)-1].Seq, Total: last})
		b.Entries = b.Entries[:0]
		return nil
	}
	err = source.Replay(ctx, have, func(e modelstore.Entry) error {
		if b.Entries = append(b.Entries, e); len(b.Entries) < batchSize {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// copyRows copies the ledger. Rows that the target already has stay.
func copyRows(ctx context.Context, target, source modelstore.Portable, progress func(Progress)) error {
	total, err := source.CountRows(ctx, modelstore.RowQuery{})
	if err != nil {
		return err
	}
	var b modelstore.Batch
	var done int64
	flush := func() error {
		if len(b.Rows) == 0 {
			return nil
		}
		if err := target.Load(ctx, b, modelstore.Position{}); err != nil {
			return err
		}
		done += int64(len(b.Rows))
		progress(Progress{Stage: "ledger", Done: done, Total: total})
		b.Rows = b.Rows[:0]
		return nil
	}
	err = source.Rows(ctx, modelstore.RowQuery{}, func(r modelstore.Row) error {
		if b.Rows = append(b.Rows, r); len(b.Rows) < batchSize {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// copyHistories copies the chunks that are missing in the target. It copies the chunks of a part in order, so that an
// interrupted copy has the first ones.
func copyHistories(ctx context.Context, target, source modelstore.Portable, progress func(Progress)) error {
	parts, err := source.Histories(ctx)
	if err != nil {
		return err
	}
	there, err := target.Histories(ctx)
	if err != nil {
		return err
	}
	have := map[modelstore.HistoryPart]int64{} // the number of chunks of each part in the target
	for _, p := range there {
		have[modelstore.HistoryPart{Cluster: p.Cluster, ID: p.ID, Part: p.Part}] = p.Chunks
	}
	var done, total int64
	for _, p := range parts {
		total += p.Chunks
	}
	for _, p := range parts {
		passOver := have[modelstore.HistoryPart{Cluster: p.Cluster, ID: p.ID, Part: p.Part}]
		err := source.HistoryChunks(ctx, p.Cluster, p.ID, p.Part, func(n int, data []byte) error {
			if done++; passOver > 0 {
				passOver--
				return nil
			}
			c := modelstore.HistoryChunk{Cluster: p.Cluster, ID: p.ID, Part: p.Part, N: n, Data: data}
			if err := target.PutHistory(ctx, c); err != nil {
				return err
			}
			progress(Progress{Stage: "histories", Done: done, Total: total})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copyRest copies checkpoints, bad lines, saved models, snapshots and values.
func copyRest(ctx context.Context, target, source modelstore.Portable, last int64) error {
	checkpoints, err := source.Checkpoints(ctx)
	if err != nil {
		return fmt.Errorf("copy the checkpoints: %w", err)
	}
	to := modelstore.Position{LastSeq: last}
	if to.BadLines, err = source.CountBadLines(ctx); err != nil {
		return fmt.Errorf("copy the bad lines: %w", err)
	}
	var b modelstore.Batch
	if b.BadLines, err = source.BadLines(ctx, 0); err != nil {
		return fmt.Errorf("copy the bad lines: %w", err)
	}
	slices.Reverse(b.BadLines)
	for _, name := range slices.Sorted(maps.Keys(checkpoints)) {
		b.Checkpoints = append(b.Checkpoints, modelstore.Checkpoint{Source: name, Data: checkpoints[name]})
	}
	if err := target.Load(ctx, b, to); err != nil {
		return fmt.Errorf("copy checkpoints and bad lines: %w", err)
	}
	if err := copyModels(ctx, target, source); err != nil {
		return fmt.Errorf("copy the saved models: %w", err)
	}
	err = source.Snapshots(ctx, func(s modelstore.Snapshot) error {
		return target.Load(ctx, modelstore.Batch{Snapshot: &s}, modelstore.Position{})
	})
	if err != nil {
		return fmt.Errorf("copy the snapshots: %w", err)
	}
	values, err := source.AllMeta(ctx)
	if err != nil {
		return fmt.Errorf("copy the values: %w", err)
	}
	for key, value := range values {
		if err := target.SetMeta(ctx, key, value); err != nil {
			return fmt.Errorf("copy the values: %w", err)
		}
	}
	return nil
}

// copyModels copies each saved model in its own transaction, because models are large.
func copyModels(ctx context.Context, target, source modelstore.Portable) error {
	models, err := source.Models(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		b := modelstore.Batch{Models: []modelstore.SavedModel{models[name]}}
		if err := target.Load(ctx, b, modelstore.Position{}); err != nil {
			return err
		}
	}
	return nil
}

// Summary has the counts of a store's contents and a checksum (SHA-256, hexadecimal) of each part. Stores with equal
// contents have equal summaries.
type Summary struct {
	LastSeq    int64  `json:"last_seq"`
	Entries    int64  `json:"entries"`
	EntriesSum string `json:"entries_sha256"`
	Rows       int64  `json:"rows"`
	RowsSum    string `json:"rows_sha256"`
	Histories  int64  `json:"histories"`
	// HistoryChunks is the number of chunks of all histories. HistoryBytes is the length of their data.
	HistoryChunks int64  `json:"history_chunks"`
	HistoryBytes  int64  `json:"history_bytes"`
	HistoriesSum  string `json:"histories_sha256"`
	Checkpoints   int64  `json:"checkpoints"`
	BadLines      int64  `json:"bad_lines"`
	BadLinesEver  int64  `json:"bad_lines_ever"`
	Snapshots     int64  `json:"snapshots"`
	SavedModels   int64  `json:"saved_models"`
	Values        int64  `json:"values"`
	// RestSum is the checksum of checkpoints, bad lines, saved models, snapshots and values.
	RestSum string `json:"rest_sha256"`
}

// String implements fmt.Stringer.
func (s *Summary) String() string {
	return fmt.Sprintf(
		"%d entries up to number %d (%.12s), %d ledger rows (%.12s), %d chunks of %d histories (%.12s), "+
			"%d checkpoints, %d of %d bad lines, %d snapshots, %d saved models, %d values (%.12s)",
		s.Entries, s.LastSeq, s.EntriesSum, s.Rows, s.RowsSum, s.HistoryChunks, s.Histories, s.HistoriesSum,
		s.Checkpoints, s.BadLines, s.BadLinesEver, s.Snapshots, s.SavedModels, s.Values, s.RestSum)
}

// Summarize reads all of a store. progress may be nil.
func Summarize(ctx context.Context, s modelstore.Portable, progress func(Progress)) (*Summary, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	sum := &Summary{}
	var err error
	if sum.LastSeq, err = s.LastSeq(ctx); err != nil {
		return nil, err
	}
	h := newDigest()
	err = s.Replay(ctx, 0, func(e modelstore.Entry) error {
		payload, err := modelstore.EncodeEvent(&e.Event)
		h.put(e.Seq, e.Source, e.Event.Cluster, e.Event.ID, e.Event.Attempt, e.Event.Kind.String(),
			nanos(e.Event.Time), payload)
		if sum.Entries++; sum.Entries%batchSize == 0 {
			progress(Progress{Stage: "compare", Done: e.Seq, Total: sum.LastSeq})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	sum.EntriesSum = h.sum()
	err = s.Rows(ctx, modelstore.RowQuery{}, func(r modelstore.Row) error {
		h.put(r.Seq, r.Cluster, r.JobID, r.Attempt, r.Queue, r.Procs, int64(r.TimeLimit), nanos(r.Submit),
			nanos(r.Start), r.Outcome, pack.Floats([]float64{r.WaitSeconds}),
			r.Method, pack.Floats(r.Levels), pack.Floats(r.Quantiles), pack.Peers(r.Peers), r.Reason,
			r.Replayed, r.Served)
		if p := r.Parts; p != nil {
			h.put(pack.Floats([]float64{p.BlockedSeconds}), pack.Floats(p.Blocked), pack.Floats(p.Eligible),
				p.Predicted, p.Settled)
		}
		sum.Rows++
		return nil
	})
	if err != nil {
		return nil, err
	}
	sum.RowsSum = h.sum()
	if err := sum.histories(ctx, s, h, progress); err != nil {
		return nil, err
	}
	return sum, sum.rest(ctx, s, h)
}

// histories adds the chunks of all histories to the summary.
func (s *Summary) histories(ctx context.Context, store modelstore.Portable, h digest, progress func(Progress)) error {
	parts, err := store.Histories(ctx)
	if err != nil {
		return err
	}
	type key struct{ cluster, id string }
	seen := map[key]bool{}
	for _, p := range parts {
		seen[key{p.Cluster, p.ID}] = true
		err := store.HistoryChunks(ctx, p.Cluster, p.ID, p.Part, func(n int, data []byte) error {
			h.put(p.Cluster, p.ID, p.Part, n, data)
			s.HistoryChunks++
			s.HistoryBytes += int64(len(data))
			progress(Progress{Stage: "compare", Done: s.HistoryChunks})
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.Histories = int64(len(seen))
	s.HistoriesSum = h.sum()
	return nil
}

// rest adds all data except the journal, the ledger and the histories to the summary.
func (s *Summary) rest(ctx context.Context, store modelstore.Portable, h digest) error {
	checkpoints, err := store.Checkpoints(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(checkpoints)) {
		h.put("checkpoint", name, checkpoints[name])
		s.Checkpoints++
	}
	models, err := store.Models(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		h.put("saved model", name, models[name].Seq, models[name].Data)
		s.SavedModels++
	}
	lines, err := store.BadLines(ctx, 0)
	if err != nil {
		return err
	}
	for _, b := range lines {
		h.put("bad line", nanos(b.At), b.Source, b.Path, b.Line, b.Reason, b.Message, b.Text)
		s.BadLines++
	}
	if s.BadLinesEver, err = store.CountBadLines(ctx); err != nil {
		return err
	}
	err = store.Snapshots(ctx, func(snap modelstore.Snapshot) error {
		sum := snap.Sum()
		h.put("snapshot", snap.Seq, sum[:])
		s.Snapshots++
		return nil
	})
	if err != nil {
		return err
	}
	values, err := store.AllMeta(ctx)
	if err != nil {
		return err
	}
	delete(values, UnfinishedKey)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		h.put("value", key, values[key])
		s.Values++
	}
	s.RestSum = h.sum()
	return nil
}

// digest is a checksum of many values.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

// put adds values. Different values have different encodings.
func (d digest) put(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			_, _ = fmt.Fprintf(d, "%d:%s", len(v), v) // writing to a hash never fails
		case []byte:
			_, _ = fmt.Fprintf(d, "%d:%s", len(v), v)
		default:
			_, _ = fmt.Fprintf(d, "%v;", v)
		}
	}
}

// sum returns the checksum of the added values, and starts a new one.
func (d digest) sum() string {
	text := hex.EncodeToString(d.Sum(nil))
	d.Reset()
	return text
}

// nanos formats an instant. An unknown instant has a text that no other instant has.
func nanos(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return fmt.Sprint(t.UnixNano())
}
