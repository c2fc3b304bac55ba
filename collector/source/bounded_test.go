package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// verbose is a parser that makes a thousand events from each line, and refuses "garbage".
type verbose struct{}

func (verbose) Parse(line []byte, emit func(job.Event)) error {
	if bytes.HasPrefix(line, []byte("garbage")) {
		return collector.Bad(collector.ReasonFormat, "", "garbage")
	}
	for i := range 1000 {
		emit(job.Event{Kind: job.Submit, ID: fmt.Sprintf("%s_%d", line, i), Time: time.Unix(1_000_000_000, 0)})
	}
	return nil
}

// TestDeliveriesAreBounded proves that lines that make many events are delivered in parts, with the checkpoint in the
// last part. Nothing is lost, delivered twice or out of order.
func TestDeliveriesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var text bytes.Buffer
	for i := range 45 {
		fmt.Fprintf(&text, "%d\n", i)
		if i == 20 {
			text.WriteString("garbage\n")
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Name: "s", Files: tail.Config{Source: "s", Path: path, OneShot: true},
		Format: collector.Format{Name: "verbose", New: func(collector.Options) collector.Parser { return verbose{} }},
	}
	r, err := Open(cfg, nil, time.Now, tail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	events, lines, bad, checkpoints := 0, 0, 0, 0
	for {
		d, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(d.Events) >= maxEvents+1000 {
			t.Errorf("a delivery of %d events", len(d.Events))
		}
		for _, ev := range d.Events {
			if want := fmt.Sprintf("%d_%d", events/1000, events%1000); ev.ID != want {
				t.Fatalf("event %d is of %s, want %s", events, ev.ID, want)
			}
			events++
		}
		lines, bad = lines+d.Lines, bad+len(d.Bad)
		if d.Checkpoint != nil {
			checkpoints++
			if events != 45_000 {
				t.Errorf("a checkpoint comes after %d events", events)
			}
		}
	}
	if events != 45_000 || lines != 46 || bad != 1 || checkpoints < 1 {
		t.Errorf("%d events of %d lines, %d bad, %d checkpoints", events, lines, bad, checkpoints)
	}
}

// TestPiecesKeepWhatStands proves that each part of a batch has, exactly once, every problem that keeps a file of the
// source from being read.
func TestPiecesKeepWhatStands(t *testing.T) {
	lost := tail.Problem{Path: "/var/log/lost", Reason: tail.Unreadable, Err: fs.ErrPermission}
	batch := tail.Batch{Lines: make([]tail.Line, 25), Standing: []tail.Problem{lost}}
	for i := range batch.Lines {
		batch.Lines[i].Text = fmt.Append(nil, i)
	}
	r := &Reader{parser: verbose{}, batch: batch,
		delivery: &Delivery{Lines: len(batch.Lines), Standing: batch.Standing}, now: time.Now}
	for piece, events := range []int{10_000, 10_000, 5_000} {
		d, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Events) != events || len(d.Standing) != 1 || d.Standing[0].Path != lost.Path {
			t.Errorf("delivery %d: %d events, standing %v, want %d events, standing %v", piece, len(d.Events),
				d.Standing, events, lost)
		}
	}
}
