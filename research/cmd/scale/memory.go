package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
)

// largest returns the cluster whose memory is measured.
func largest(history int) point {
	p := base()
	p.running, p.queued, p.historical = 10_000, 20_000, history
	return p
}

// daemonGC is the garbage collector's setting in the daemon.
const daemonGC = 50

// measureMemory builds a large cluster, prints its memory in MiB and writes a heap profile. The generator of the events
// is included: about 20 MiB for each 10,000 running or waiting jobs.
func measureMemory(ctx context.Context, p point, profile string) (err error) {
	debug.SetGCPercent(daemonGC)
	w := newWorld(p)
	b, err := start(ctx, w, &sink{}, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	defer b.pipeline.Close()
	for _, part := range []struct {
		name string
		feed func() error
	}{
		{"history", func() error { return b.feed(ctx, w.past(p.historical)) }},
		{"present", func() error { return b.feed(ctx, w.fill()) }},
		{"events", func() error { return new(cost).ofEvents(ctx, b, w) }},
	} {
		took, err := used(1, part.feed)
		if err != nil {
			return err
		}
		fmt.Printf("%s\t%.1f CPU-s\t%s\n", part.name, took.Seconds(), memoryNow())
	}
	f, err := os.Create(profile)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// memoryNow returns the live heap and the peak memory of the process, as text.
func memoryNow() string {
	var m runtime.MemStats
	var u unix.Rusage
	runtime.GC()
	runtime.ReadMemStats(&m)
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("live %d MiB, at most %d MiB resident", m.HeapAlloc>>20, u.Maxrss>>10)
}
