package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/swf"
)

// traceEvents returns the events of a workload file, in the order of time. Jobs that never ran are left out.
func traceEvents(t testing.TB, name string) (events []job.Event) {
	t.Helper()
	f, err := swf.Open(refdata.Shared(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for {
		var r swf.Record
		if err := f.Next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !r.Ran() || r.Procs() < 1 || r.Wait < 0 {
			continue
		}
		ev := event(job.Submit, fmt.Sprint(r.ID), float64(r.Submit))
		ev.Attributes = job.Attributes{
			Queue: f.Header().QueueName(&r), User: fmt.Sprint(r.User), Name: fmt.Sprint(r.Executable),
			Procs: int(r.Procs()), TimeLimit: time.Duration(max(r.TimeLimit, r.Runtime, 1)) * time.Second,
		}
		ev.Times.Submit = ev.Time
		start := ev
		start.Kind, start.Time = job.Start, at(float64(r.Submit+r.Wait))
		start.Times.Start = start.Time
		end := start
		end.Kind, end.Time = job.End, at(float64(r.Submit+r.Wait+r.Runtime))
		end.Times.End = end.Time
		events = append(events, ev, start, end)
	}
	slices.SortStableFunc(events, func(a, b job.Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Kind, b.Kind))
	})
	return events
}

// BenchmarkSave saves and restores every part of the state of a cluster after the trace of KTH-SP2, in the middle of a
// busy day. It reports the bytes of each part and the times.
func BenchmarkSave(b *testing.B) {
	events := traceEvents(b, "traces/KTH-SP2-1996-2.1-cln.swf.gz")
	cfg := testConfig()
	cfg.Clusters[0].Procs = 100
	cfg.Models.WindowJobs, cfg.Models.WindowAge, cfg.Models.HistoryJobs = 10_000, 0, 100_000
	l := newWriter(b, cfg)
	defer l.close()
	rows := 0
	takeAll(l, events[:len(events)-2000], &rows)
	for i, part := range l.parts() {
		data, err := part.MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		b.Run("save/"+part.name[len("c/"):], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if data, err = part.MarshalBinary(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data)), "saved-bytes")
		})
		b.Run("restore/"+part.name[len("c/"):], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				fresh := newWriter(b, cfg)
				if part.name == "c/ledger" { // the ledger's views need the engine
					if err := fresh.ledger.feeder.UnmarshalBinary(mustSave(b, l.ledger.feeder)); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if err := fresh.parts()[i].UnmarshalBinary(data); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				fresh.close()
				b.StartTimer()
			}
		})
	}
}

func mustSave(t testing.TB, part interface{ MarshalBinary() ([]byte, error) }) []byte {
	t.Helper()
	data, err := part.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
