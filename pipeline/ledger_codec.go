package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// ledgerKind and ledgerVersion are the kind and version of the saved state of a ledger.
const ledgerKind, ledgerVersion = "ledger", 1

// savedLedger is the stored form of a ledger. Opens has all forecasts once, and Views the kept views that are still
// needed. Pending, Late and Open are indices into Opens. After has the commands that the feeder's Sequencer keeps until
// the instant is over. Busy has the ids of the jobs that were submitted or started at the instant.
type savedLedger struct {
	Instant time.Time       `json:"instant"`
	Opens   []*openForecast `json:"opens"`
	Pending []int           `json:"pending"`
	Late    []int           `json:"late"`
	Open    []int           `json:"open"`
	After   []engineCommand `json:"after,omitempty"`
	Busy    []uint64        `json:"busy,omitempty"`
	Views   []savedView     `json:"sights,omitempty"`
	Of      []int           `json:"of"`      // for each of Opens the index of its view, -1 for none
	Current int             `json:"current"` // index of the newest view, -1 if there is none
	accuracy.Record
}

// fields reads or writes the ledger as JSON, because rows and scores have a JSON form already. When reading, it also
// checks the indices and restores Record.
func (s *savedLedger) fields(c *codec.Codec) {
	if !c.Reading {
		text, err := s.text()
		c.Refuse(err)
		c.Pieces(text)
		return
	}
	if c.JSON(s); c.Bad {
		return
	}
	number := func(what string, n, least, end int) {
		c.Check(n >= least && n < end, "%s %d of %d", what, n, end)
	}
	for _, numbers := range [...][]int{s.Pending, s.Late, s.Open} {
		for _, n := range numbers {
			number("forecast", n, 0, len(s.Opens))
		}
	}
	c.Check(len(s.Of) == len(s.Opens), "the views of %d forecasts, not of %d", len(s.Of), len(s.Opens))
	number("view", s.Current, -1, len(s.Views))
	for _, n := range s.Of {
		number("view", n, -1, len(s.Views))
	}
	for i, o := range s.Opens {
		c.Check(o != nil && o.Job != nil, "forecast %d is missing", i)
	}
	for _, n := range s.Late {
		c.Check(c.Bad || s.Of[n] >= 0, "forecast %d needs a view", n)
	}
	var err error
	s.Record, err = s.Restored()
	c.Refuse(err)
}

// pieceBytes is the size in bytes from which on a piece of the JSON of the ledger is full, and another piece begins.
const pieceBytes = 1 << 20

// text returns the JSON of the ledger in pieces. The forecasts are most of it. Encoded together with the rest, they
// would take several times the memory: the buffer of json.Marshal, its earlier size, and the result.
func (s *savedLedger) text() (pieces [][]byte, err error) {
	if s.Opens == nil {
		whole, err := json.Marshal(s)
		return [][]byte{whole}, err
	}
	rest := *s
	rest.Opens = nil
	whole, err := json.Marshal(&rest)
	if err != nil {
		return nil, err
	}
	const name, null = `"opens":`, `null`
	before, after, _ := bytes.Cut(whole, []byte(name+null)) // only a time comes before it
	piece := append(append(make([]byte, 0, pieceBytes+pieceBytes/8), before...), name+"["...)
	for i, o := range s.Opens {
		if i > 0 {
			piece = append(piece, ',')
		}
		one, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		if piece = append(piece, one...); len(piece) >= pieceBytes {
			pieces, piece = append(pieces, piece), make([]byte, 0, pieceBytes+pieceBytes/8)
		}
	}
	return append(pieces, append(append(piece, ']'), after...)), nil
}

type savedView struct {
	At   time.Time `json:"at"`
	View []byte    `json:"view"`
}

// pointerTable numbers pointers in the order of their first use.
type pointerTable[T any] struct {
	all   []*T
	index map[*T]int
}

func (t *pointerTable[T]) number(list []*T) []int {
	if t.index == nil {
		t.index = map[*T]int{}
	}
	out := make([]int, len(list))
	for i, v := range list {
		n, ok := t.index[v]
		if !ok {
			n = len(t.all)
			t.index[v] = n
			t.all = append(t.all, v)
		}
		out[i] = n
	}
	return out
}

func pickAll[T any](all []*T, numbers []int) []*T {
	out := make([]*T, len(numbers))
	for i, n := range numbers {
		out[i] = all[n]
	}
	return out
}

// MarshalBinary returns the stored form of the open forecasts and scores. Equal ledgers give equal bytes.
func (l *ledger) MarshalBinary() ([]byte, error) {
	out, err := l.saved()
	if err != nil {
		return nil, err
	}
	return codec.Save(ledgerKind, ledgerVersion, 0, out.fields)
}

// encode is an Encoder of the bytes that MarshalBinary returns.
func (l *ledger) encode() (int, func(put func([]byte) error) error, error) {
	out, err := l.saved()
	if err != nil {
		return 0, nil, err
	}
	text, err := out.text()
	if err != nil {
		return 0, nil, err
	}
	return inPieces(func(put func([]byte) error) (int, error) {
		return codec.SaveTo(put, ledgerKind, ledgerVersion, func(c *codec.Codec) { c.Pieces(text) })
	})()
}

// saved returns the open forecasts and scores in the form in which they are saved.
func (l *ledger) saved() (*savedLedger, error) {
	var opens pointerTable[openForecast]
	var sights pointerTable[submissionView]
	waiting := make([]*openForecast, 0, len(l.open))
	for _, o := range l.open {
		waiting = append(waiting, o)
	}
	slices.SortFunc(waiting, byPlace)
	out := &savedLedger{
		Instant: l.instant.UTC(), Record: l.record,
		Pending: opens.number(l.pending), Late: opens.number(l.late), Open: opens.number(waiting),
	}
	out.After, out.Busy = l.feeder.order.State()
	number := func(s *submissionView) int {
		if s == nil {
			return -1
		}
		return sights.number([]*submissionView{s})[0]
	}
	for _, o := range opens.all {
		out.Of = append(out.Of, number(o.View))
	}
	out.Opens, out.Current = opens.all, number(l.newestView)
	for _, s := range sights.all {
		data, err := s.View.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("a kept view: %w", err)
		}
		out.Views = append(out.Views, savedView{s.At.UTC(), data})
	}
	return out, nil
}

// byPlace compares two forecasts of waiting jobs by the order of submission. A task of an array comes after the array.
func byPlace(a, b *openForecast) int {
	if o := cluster.ByOrder(a.Job, b.Job); o != 0 || a.Part == b.Part {
		return o
	}
	if b.Part {
		return -1
	}
	return 1
}

// UnmarshalBinary restores a ledger that MarshalBinary saved. The engine must be restored before the ledger, because
// the views belong to it. An error wraps a *codec.Error and leaves the ledger unchanged.
func (l *ledger) UnmarshalBinary(data []byte) error {
	var in savedLedger
	if err := codec.Load(ledgerKind, ledgerVersion, data, in.fields); err != nil {
		return err
	}
	fresh := newLedger(l.cluster, l.feeder, l.emit)
	fresh.instant, fresh.record = in.Instant, in.Record
	sights := make([]*submissionView, len(in.Views))
	for i, s := range in.Views {
		view, err := l.feeder.engine.RestoreView(s.View)
		if err != nil {
			return fmt.Errorf("saved ledger: %w", err)
		}
		sights[i] = &submissionView{At: s.At, View: view}
	}
	at := func(n int) *submissionView {
		if n < 0 {
			return nil
		}
		return sights[n]
	}
	for i, o := range in.Opens {
		o.View = at(in.Of[i])
	}
	fresh.newestView = at(in.Current)
	fresh.pending, fresh.late = pickAll(in.Opens, in.Pending), pickAll(in.Opens, in.Late)
	for _, o := range pickAll(in.Opens, in.Open) {
		fresh.open[o.Job.ID] = o
		fresh.show(o)
	}
	fresh.feeder.order.Restore(in.After, in.Busy)
	*l = *fresh
	return nil
}
