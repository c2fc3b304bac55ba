package outlook

import (
	"context"
	"testing"
)

// busy returns a cluster of 4,096 processors that has learnt for three days, and its state with 1,000 running and 1,000
// waiting jobs.
func busy(b *testing.B) (*cluster, State) {
	b.Helper()
	o := Options{Seed: 1, Every: hour}
	c := newCluster(b, o, 4096, 250, 9)
	c.observe(b, 3*day)
	s := State{Now: c.machine.Now(), Pools: []Pool{{Name: "all", Procs: 4096}}}
	free := 4096
	for i := range 2000 {
		j := Job{
			ID: uint64(1<<40 + i), Queue: []string{"short", "long"}[i%2], User: string(rune('a' + i%20)), App: "x",
			Procs: 1 + i%7, Limit: float64(600 * (1 + i%60)), Submit: s.Now - float64(10*i),
		}
		if i < 1000 {
			j.Start = s.Now - float64(i)
			free -= j.Procs
			s.Running = append(s.Running, j)
			continue
		}
		s.Waiting = append(s.Waiting, j)
	}
	s.Running[0].Procs += free // the machine is full
	return c, s
}

// BenchmarkForecast makes one forecast with the defaults (64 replicas of a week, standard jobs in 16 of them) of a
// machine to which 6,000 jobs come per day.
func BenchmarkForecast(b *testing.B) {
	c, s := busy(b)
	for b.Loop() {
		if _, err := c.f.Forecast(context.Background(), &s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkForecastDay makes one forecast of a day, without standard jobs.
func BenchmarkForecastDay(b *testing.B) {
	c, s := busy(b)
	c.f.options.Horizons, c.f.options.Standards = c.f.options.Horizons[:5], nil
	for b.Loop() {
		if _, err := c.f.Forecast(context.Background(), &s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkObserve measures one lesson of every horizon.
func BenchmarkObserve(b *testing.B) {
	c, s := busy(b)
	for b.Loop() {
		s.Now += week // every horizon is due, and no outcome is ready
		for i := range s.Running {
			s.Running[i].Start += week
		}
		c.f.s.Refitted = s.Now
		if err := c.f.Observe(context.Background(), &s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSave measures saving and loading.
func BenchmarkSave(b *testing.B) {
	c, _ := busy(b)
	for b.Loop() {
		data, err := c.f.MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Load(Options{Seed: 1, Every: hour}, data); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(data)), "bytes")
	}
}
