package pipeline

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// idle waits until the learner has done what it was told.
func idle(l *loadLearner) {
	for {
		l.mu.Lock()
		working := l.working
		l.mu.Unlock()
		if working == nil {
			return
		}
		<-working
	}
}

// asHistory makes events those of a log that is read afterwards.
func asHistory(events []job.Event) []job.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].Live = false
	}
	return out
}

// readAll hands over deliveries of which the last says that the log is read, and waits for the forecast.
func readAll(t *testing.T, p *Pipeline, ds []*source.Delivery) *Outlook {
	t.Helper()
	ds[len(ds)-1].CaughtUp = true
	take(t, p, ds...)
	p.publish()
	idle(p.writers["c"].load.learner)
	return p.View("c").Outlook()
}

// savedOf is what is saved of the load.
func savedOf(t *testing.T, s modelstore.Store) []byte {
	t.Helper()
	all, err := s.Checkpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all[loadKey("c")]
}

// A restored learner goes on: it has what it had learnt, agrees with the picture, and forecasts the same as the one that was saved.
func TestRestoredLoadGoesOn(t *testing.T) {
	events := asHistory(workload(t, 300, 4))
	store := newStore(t)
	p, src := newPipeline(loadConfig(), store, collector.Live)
	restore(t, p, "one")
	ds := deliveries(src, events, 90, 4)
	before := readAll(t, p, ds)
	if before == nil || len(before.Cluster.Points) == 0 || before.Outcomes[2] == 0 {
		t.Fatalf("the first process forecasts %+v: it proves little", before)
	}
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if len(savedOf(t, store)) == 0 {
		t.Fatal("nothing is saved of the load at an orderly end")
	}
	again, _ := newPipeline(loadConfig(), store, collector.Live)
	restore(t, again, "one")
	defer again.Close()
	l := again.writers["c"].load.learner
	idle(l)
	after := again.View("c").Outlook()
	if after == nil {
		t.Fatal("there is no forecast after a restore")
	}
	if !after.At.Equal(before.At) {
		t.Fatalf("it is for %v, that before was for %v", after.At, before.At)
	}
	if d := cmp.Diff(before.Forecast, after.Forecast); d != "" {
		t.Errorf("forecasts before (-) and after (+) a restart: %s", d)
	}
	if d := cmp.Diff(before.Outcomes, after.Outcomes); d != "" {
		t.Errorf("outcomes before (-) and after (+) a restart: %s", d)
	}
	compareLive(t, l, again.writers["c"].state)
}

// What is saved may be missing, damaged, of another version or of another instant than the picture: the picture is restored all the same, and the load is learnt afresh or goes on.
func TestRestoreWithoutTheLoad(t *testing.T) {
	events := asHistory(workload(t, 120, 4))
	for name, spoil := range map[string]func(data []byte) []byte{
		"missing":  func([]byte) []byte { return nil },
		"no bytes": func([]byte) []byte { return []byte("x") },
		"cut":      func(data []byte) []byte { return data[:len(data)/2] },
		"damaged": func(data []byte) []byte {
			data = bytes.Clone(data)
			data[len(data)/2] ^= 1
			return data
		},
		"whole": func(data []byte) []byte { return data },
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, filepath.Join(t.TempDir(), "test.db"))
			defer func() { _ = store.Close() }()
			p, src := newPipeline(loadConfig(), store, collector.Live)
			restore(t, p, "one")
			ds := deliveries(src, events, 90, 4)
			readAll(t, p, ds[:len(ds)/2])
			if err := p.finish(); err != nil {
				t.Fatal(err)
			}
			data := savedOf(t, store)
			take(t, p, ds[len(ds)/2:]...) // and the process is killed
			p.Close()
			want := lanes(t, p)
			cp := modelstore.Checkpoint{Source: loadKey("c"), Data: spoil(data)}
			if err := store.Commit(t.Context(), modelstore.Batch{Checkpoints: []modelstore.Checkpoint{cp}}); err != nil {
				t.Fatal(err)
			}
			core, logs := observer.New(zapcore.WarnLevel)
			again := New(loadConfig(), store, p.now, zap.New(core), NewMetrics(prometheus.NewRegistry()))
			again.AddSource(*src)
			restore(t, again, "one")
			defer again.Close()
			l := again.writers["c"].load.learner
			idle(l)
			if d := cmp.Diff(want, lanes(t, again)); d != "" {
				t.Errorf("the picture differs: %.1000s", d)
			}
			if again.View("c").Outlook() == nil {
				t.Error("there is no forecast")
			}
			compareLive(t, l, again.writers["c"].state)
			if complains := logs.Len() > 0; complains != (name != "missing" && name != "whole") {
				t.Errorf("logged %v", logs.All())
			}
		})
	}
}

// Closing in the middle of the work ends it at once, and what is told afterwards begins none.
func TestLoadEndsWithItsPipeline(t *testing.T) {
	p, src := newPipeline(loadConfig(), nil, collector.Live)
	events := asHistory(workload(t, 300, 4))
	take(t, p, deliveries(src, events[:500], 90, 4)...)
	p.Close()
	l := p.writers["c"].load.learner
	if l.working != nil {
		t.Fatal("it goes on after Close")
	}
	take(t, p, deliveries(src, events[500:], 90, 4)...)
	if l.working != nil {
		t.Error("it begins again after Close")
	}
}

// The pipeline keeps the same entries, rows and state whether the load is forecast or not.
func TestLoadChangesNothingElse(t *testing.T) {
	events := mangle(workload(t, 150, 6), 6)
	run := func(cfg Config) kept {
		store := newStore(t)
		p, src := newPipeline(cfg, store, collector.Live)
		defer p.Close()
		restore(t, p, "one")
		take(t, p, deliveries(src, events, 90, 6)...)
		return keeps(t, store, p)
	}
	if d := cmp.Diff(run(testConfig()), run(loadConfig())); d != "" {
		t.Errorf("without (-) and with (+): %.2000s", d)
	}
}
