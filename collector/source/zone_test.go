package source_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
)

// TestZoneSurvivesRestart follows a log of a server at UTC-7 as if it were in UTC. The difference that its first
// records show corrects a record that is read after a restart, too.
func TestZoneSurvivesRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "20240703")
	write := func(text string) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(text)
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	var times []int64
	notices := 0
	read := func(checkpoint []byte) []byte {
		r, err := source.Open(source.Config{Name: "c/pbs", Format: pbs.Format(),
			Options: collector.Options{Location: time.UTC},
			Files:   tail.Config{Source: "c/pbs", Path: path, OneShot: true},
		}, checkpoint, time.Now, tail.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		for {
			d, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				return checkpoint
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range d.Events {
				times = append(times, ev.Time.Unix())
			}
			for _, p := range d.Problems {
				if p.Reason == tail.OddField {
					notices++
				}
			}
			checkpoint = d.Checkpoint
		}
	}
	write("07/03/2024 05:00:00;Q;9.srv;queue=batch\n" +
		"07/03/2024 05:10:00;S;9.srv;user=ann queue=batch ctime=1720008000 start=1720008600 Resource_List.ncpus=1\n")
	checkpoint := read(nil)
	write("07/03/2024 05:41:00;Q;10.srv;queue=batch\n")
	read(checkpoint)
	if want := []int64{1720008000, 1720008600, 1720010460}; !slices.Equal(times, want) || notices != 2 {
		t.Errorf("%d, want %d; %d notices, want one at each start", times, want, notices)
	}
}
