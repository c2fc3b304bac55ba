package outlook

import (
	"context"
	"errors"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/google/go-cmp/cmp"
)

// TestSavedGoesOnAlike proves that a Forecaster that was saved and loaded learns and forecasts like one that was not.
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

// savable restores a Forecaster with options.
type savable struct {
	*Forecaster
	options Options
}

func (s *savable) UnmarshalBinary(data []byte) error {
	f, err := Load(s.options, data)
	if err == nil {
		s.Forecaster = f
	}
	return err
}

// TestSpoiltBytesAreRefused proves that bytes that were cut or flipped, or saved by another version or under other
// options, are refused with an error that names the cause.
func TestSpoiltBytesAreRefused(t *testing.T) {
	c := newCluster(t, small(), 64, 8, 7)
	c.observe(t, 2*day)
	data, err := c.f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	empty, err := New(small())
	if err != nil {
		t.Fatal(err)
	}
	codectest.Check(t, data, func() codec.Savable { return &savable{empty, small()} })
	o := small()
	o.Horizons = []float64{hour}
	if _, err := Load(o, data); !errors.Is(err, codec.ErrConfig) {
		t.Errorf("other horizons: %v", err)
	}
}

// FuzzLoad overwrites a part of saved bytes with anything, under a right checksum. It proves that what is loaded can
// observe and forecast without failing.
func FuzzLoad(f *testing.F) {
	o := small()
	o.Jobs, o.Queues, o.Horizons = 250, 3, o.Horizons[:1]
	c := newCluster(f, o, 64, 8, 8)
	c.observe(f, 3*day)
	data, err := c.f.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	s := c.picture.State(c.machine.Now() + hour)
	codectest.Fuzz(f, data, func() codec.Savable { return &savable{options: o} }, func(t *testing.T, v codec.Savable) {
		got := v.(*savable).Forecaster
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
