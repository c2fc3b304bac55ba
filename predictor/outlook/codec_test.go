package outlook

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSavedGoesOnAlike: a Forecaster that was saved and loaded learns and forecasts as the one that went on.
func TestSavedGoesOnAlike(t *testing.T) {
	c := newCluster(t, small(), 64, 14, 6)
	c.observe(t, 16*day) // long enough for trees
	data, err := c.f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Load(small(), data)
	if err != nil {
		t.Fatal(err)
	}
	both := []*Forecaster{c.f, other}
	c.told = chorus{c.f, other}
	var all [2]*Forecast
	for at := c.machine.Now() + hour; at < 18*day; at += hour {
		s := c.to(t, at)
		for i, f := range both {
			if err := f.Observe(context.Background(), &s); err != nil {
				t.Fatal(err)
			}
			all[i] = forecast(t, f, s)
		}
		if d := cmp.Diff(all[0], all[1]); d != "" {
			t.Fatalf("at %g: the loaded one says otherwise:\n%s", at, d)
		}
	}
	if d := cmp.Diff(c.f.Scores(), other.Scores()); d != "" {
		t.Error(d)
	}
	t.Logf("%d bytes", len(data))
}

// TestSpoiltBytesAreRefused: bytes that were cut or flipped, or saved under other options, are refused, and say which.
func TestSpoiltBytesAreRefused(t *testing.T) {
	c := newCluster(t, small(), 64, 8, 7)
	c.observe(t, 2*day)
	data, err := c.f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 5, 12, len(data) / 2, len(data) - 1} {
		if _, err := Load(small(), data[:cut]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", cut, len(data), err)
		}
	}
	for i := 0; i < len(data); i += 1 + len(data)/97 {
		spoilt := append([]byte(nil), data...)
		spoilt[i] ^= 16
		if _, err := Load(small(), spoilt); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
	}
	o := small()
	o.Horizons = []float64{hour}
	if _, err := Load(o, data); !errors.Is(err, ErrOptions) {
		t.Errorf("other horizons: %v", err)
	}
}

// FuzzLoad: whatever is written over a part of what was saved, under a right checksum, what is taken goes on observing
// and forecasting without failing.
func FuzzLoad(f *testing.F) {
	o := small()
	o.Jobs, o.Queues, o.Horizons = 250, 3, o.Horizons[:1]
	c := newCluster(f, o, 64, 8, 8)
	c.observe(f, 3*day)
	data, err := c.f.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	good := data[len(magic)+4:]
	s := c.picture.State(c.machine.Now() + hour)
	f.Add(uint32(0), []byte{}, uint16(0))
	f.Add(uint32(len(good)/2), []byte{0xfe, 1, 2}, uint16(3))
	f.Add(uint32(len(good)/3), []byte{0xff}, uint16(9))
	f.Fuzz(func(t *testing.T, at uint32, with []byte, instead uint16) {
		from := int(at) % (len(good) + 1)
		to := min(from+int(instead), len(good))
		body := slices.Concat(good[:from], with, good[to:])
		whole := append(binary.BigEndian.AppendUint32([]byte(magic), crc32.ChecksumIEEE(body)), body...)
		got, err := Load(o, whole)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrOptions) {
				t.Fatal(err)
			}
			return
		}
		if err := got.Observe(context.Background(), &s); err != nil {
			t.Fatal(err)
		}
		fc, err := got.Forecast(context.Background(), &s)
		if err != nil {
			t.Fatal(err)
		}
		if len(fc.Cluster.Points) != 1 {
			t.Fatalf("%d points", len(fc.Cluster.Points))
		}
		if _, err := got.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
	})
}
