package tail

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestNewRefuses proves that invalid configurations and checkpoints are refused, and that the error names the field.
func TestNewRefuses(t *testing.T) {
	good := Config{Source: "s", Path: t.TempDir()}
	for _, c := range []struct {
		name, want string
		cfg        Config
		ckpt       string
		checkpoint bool
	}{
		{name: "no source", cfg: Config{Path: "x"}, want: "source"},
		{name: "no path", cfg: Config{Source: "s"}, want: "path"},
		{name: "pattern", cfg: Config{Source: "s", Path: "x", Pattern: "["}, want: "pattern"},
		{name: "rotated", cfg: Config{Source: "s", Path: "x", Rotated: []string{"x["}}, want: "rotated[0]"},
		{name: "negative", cfg: Config{Source: "s", Path: "x", MaxLine: -1}, want: "negative"},
		{name: "garbage", cfg: good, ckpt: "{", want: "checkpoint", checkpoint: true},
		{name: "version", cfg: good, ckpt: `{"version":9}`, want: "version 9", checkpoint: true},
		{name: "offset", cfg: good, ckpt: `{"version":1,"files":[{"offset":-1}]}`, want: "files[0]", checkpoint: true},
		{name: "head", cfg: good, ckpt: `{"version":1,"files":[{"offset":1,"head_len":9}]}`, want: "files[0]",
			checkpoint: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ckpt []byte
			if c.ckpt != "" {
				ckpt = []byte(c.ckpt)
			}
			_, err := New(c.cfg, ckpt, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to name %q", err, c.want)
			}
			if errors.Is(err, ErrCheckpoint) != c.checkpoint {
				t.Errorf("%v: ErrCheckpoint %v, want %v", err, !c.checkpoint, c.checkpoint)
			}
		})
	}
}

// FuzzCheckpoint proves that New does not panic for any bytes as a checkpoint.
func FuzzCheckpoint(f *testing.F) {
	f.Add(
		[]byte(`{"version":1,"files":[{"path":"log","dev":1,"ino":2,"offset":4,"line":2,"head_len":4,"tail_len":4}]}`))
	f.Add([]byte(`{"version":1,"dir":true,"low":"20261120","files":[{"done":true,"copy":true}]}`))
	f.Fuzz(func(t *testing.T, ckpt []byte) {
		tl, err := New(Config{Source: "s", Path: filepath.Join(t.TempDir(), "log"), OneShot: true}, ckpt, Options{})
		if err != nil {
			return
		}
		for err == nil {
			_, err = tl.Next(t.Context())
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if err := tl.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestHeaderOnReopen proves that the header function gets the header of a file even if reading continues in the middle
// of the file.
func TestHeaderOnReopen(t *testing.T) {
	hazard(t, func(r *rig) {
		var seen []string
		r.opts.Header = func(_ string, rd io.Reader) error {
			b := make([]byte, 5)
			_, err := io.ReadFull(rd, b)
			seen = append(seen, string(b))
			return err
		}
		r.write("log", ";head\n1\n")
		r.want("log:1:;head log:2:1")
		if seen != nil {
			t.Errorf("from the beginning the header is a line, but got %q", seen)
		}
		r.start()
		r.write("log", "2\n")
		r.want("log:3:2")
		if len(seen) != 1 || seen[0] != ";head" {
			t.Errorf("got %q", seen)
		}
	})
}

// TestHeaderFails proves that an error of the header function is reported, and that reading continues.
func TestHeaderFails(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n")
		r.want("log:1:1")
		r.opts.Header = func(string, io.Reader) error { return errors.New("no header") }
		r.start()
		r.write("log", "2\n")
		r.want("log:2:2", BadHeader)
	})
}

// TestMetricsLint proves that the metrics follow Prometheus's rules.
func TestMetricsLint(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.read("s", 1, 2)
	m.rotated("s", kindRename)
	m.problem("s", Truncated)
	m.lagging("s", 3)
	found, err := testutil.GatherAndLint(reg)
	if err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
	if n, err := testutil.GatherAndCount(reg); err != nil || n != 6 {
		t.Errorf("%d metrics, %v; want 6", n, err)
	}
}

// TestMetrics proves that lines, bytes, lag and problems are counted under the source's name.
func TestMetrics(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\ntwo\nthr")
		r.poll(0)
		r.write("log", "\x00\x00\n")
		for what, v := range map[string][2]float64{
			"lines": {testutil.ToFloat64(r.metrics.lines.WithLabelValues("test")), 2},
			"bytes": {testutil.ToFloat64(r.metrics.bytes.WithLabelValues("test")), 8},
			"lag":   {testutil.ToFloat64(r.metrics.lag.WithLabelValues("test")), 3},
		} {
			if v[0] != v[1] {
				t.Errorf("%s: %v, want %v", what, v[0], v[1])
			}
		}
		r.poll(0)
		r.poll(DefaultGrace)
		if n := testutil.ToFloat64(r.metrics.problems.WithLabelValues("test", string(NulBytes))); n != 1 {
			t.Errorf("%v NUL problems counted, want 1", n)
		}
	})
}
