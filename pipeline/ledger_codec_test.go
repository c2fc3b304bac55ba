package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// TestWindowIsSaved proves that the windows of the newest forecasts are saved and restored, that a ledger saved by an
// older program without windows can be read, and that a damaged window is refused.
func TestWindowIsSaved(t *testing.T) {
	fresh := func() *clusterWriter { return newWriter(t, testConfig()) }
	l := fresh()
	defer l.close()
	for _, ev := range workload(t, 400, 5) {
		l.take(ev, "log", func() int64 { return 1 }, &output{})
	}
	data, err := l.ledger.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	restore := func(data []byte) (*ledger, error) {
		l := fresh()
		defer l.close()
		err := l.ledger.UnmarshalBinary(data)
		return l.ledger, err
	}
	again, err := restore(data)
	if err != nil {
		t.Fatal(err)
	}
	_, before := l.ledger.record.Snapshot()
	_, after := again.record.Snapshot()
	for queue, want := range before {
		if got := after[queue]; got == nil || want.N == 0 || got.N != want.N ||
			got.LogPinball[2] != want.LogPinball[2] {
			t.Errorf("queue %s: %+v after, %+v before", queue, got, want)
		}
	}
	if len(again.record.Recent) != 2 {
		t.Errorf("windows of %d queues, want 2", len(again.record.Recent))
	}
	edit := func(change func(map[string]any)) []byte {
		return codectest.EditJSON(t, data, func(text []byte) []byte {
			var saved map[string]any
			decoded := json.Unmarshal(text, &saved)
			change(saved)
			out, err := json.Marshal(saved)
			if decoded != nil || err != nil {
				t.Fatal(decoded, err)
			}
			return out
		})
	}
	old, err := restore(edit(func(saved map[string]any) { delete(saved, "recent") }))
	if err != nil || len(old.record.Recent) != 0 || len(old.record.Scores) == 0 {
		t.Errorf("saved by an older program: %v, %d windows, %d scores; want scores without windows",
			err, len(old.record.Recent), len(old.record.Scores))
	}
	oneLevel := accuracy.Figures{N: 1, LogPinball: []float64{0}}
	for name, blocks := range map[string]any{
		"none": nil, "empty": []any{map[string]any{}}, "of one level": []any{oneLevel},
	} {
		bad := edit(func(saved map[string]any) {
			saved["recent"].(map[string]any)["a"] = map[string]any{"blocks": blocks}
		})
		if _, err := restore(bad); (err == nil) != (name == "none") {
			t.Errorf("blocks %s: %v", name, err)
		}
	}
}

// TestSavedLedger proves that a restored ledger saves the same bytes again. A damaged ledger, one of another version,
// and one with an index outside of a list are refused.
func TestSavedLedger(t *testing.T) {
	odd := func(id string) bool { return id[len(id)-1]%2 == 1 }
	l := newWriter(t, testConfig())
	defer l.close()
	for _, ev := range toldLate(alive(workload(t, 100, 5)), 40, odd) {
		if l.take(ev, "log", func() int64 { return 1 }, &output{}); len(l.ledger.late) > 0 && len(l.ledger.open) > 5 {
			break
		}
	}
	if len(l.ledger.late) == 0 || len(l.ledger.open) == 0 {
		t.Fatalf("%d forecasts are late, %d open: it proves little", len(l.ledger.late), len(l.ledger.open))
	}
	engine, data := saves(t, l.ledger.feeder), saves(t, l.ledger)
	fresh := func() codec.Savable {
		w := newWriter(t, testConfig())
		t.Cleanup(w.close)
		if err := w.ledger.feeder.UnmarshalBinary(engine); err != nil {
			t.Fatal(err)
		}
		return w.ledger
	}
	codectest.Check(t, data, fresh)
	for name, change := range map[string]func(*savedLedger){
		"late, beyond the end":       func(s *savedLedger) { s.Late[0] = len(s.Opens) },
		"open, below 0":              func(s *savedLedger) { s.Open[0] = -1 },
		"late, without a view":       func(s *savedLedger) { s.Of[s.Late[0]] = -1 },
		"a view beyond the end":      func(s *savedLedger) { s.Of[0] = len(s.Views) },
		"the newest, beyond the end": func(s *savedLedger) { s.Current = len(s.Views) },
		"fewer views of forecasts":   func(s *savedLedger) { s.Of = s.Of[1:] },
		"a forecast that is missing": func(s *savedLedger) { s.Opens[0] = nil },
		"a view that is cut off":     func(s *savedLedger) { s.Views[0].View = s.Views[0].View[:9] },
	} {
		bad := codectest.EditJSON(t, data, func(text []byte) []byte {
			var saved savedLedger
			decoded := json.Unmarshal(text, &saved)
			change(&saved)
			out, err := json.Marshal(saved)
			if decoded != nil || err != nil {
				t.Fatal(decoded, err)
			}
			return out
		})
		if err := fresh().UnmarshalBinary(bad); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRestoredLedgerGoesOn proves that a restored ledger still passes its rows to the writer.
func TestRestoredLedgerGoesOn(t *testing.T) {
	events := workload(t, 100, 5)
	l, out := newWriter(t, testConfig()), &output{}
	defer l.close()
	seq := func() int64 { return 1 }
	for _, ev := range events[:len(events)/2] {
		l.take(ev, "log", seq, out)
	}
	data, err := l.ledger.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.ledger.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	rows := len(out.rows)
	for _, ev := range events[len(events)/2:] {
		l.take(ev, "log", seq, out)
	}
	if len(out.rows) == rows {
		t.Error("no row comes after a restore")
	}
}

// TestLedgerIsWrittenInPiecesAsJSON proves that the pieces of a stored ledger together are the encoding of the whole,
// also if a text in it looks like the place where the forecasts belong.
func TestLedgerIsWrittenInPiecesAsJSON(t *testing.T) {
	var odd openForecast
	odd.Job = &cluster.Job{ID: `1"opens":null`, Attributes: job.Attributes{Queue: `"opens":null`}}
	for n, opens := range [][]*openForecast{nil, {}, {&odd}, {&odd, &odd, &odd}} {
		s := &savedLedger{Opens: opens, Of: []int{1, 2}, Busy: []uint64{7}, Current: -1}
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := s.text()
		if got := bytes.Join(pieces, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("case %d: %v\n%s\nwant\n%s", n, err, got, want)
		}
	}
}
