package users_test

import (
	"errors"
	"io"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/users"
)

// readTrace reads a log of the shared data as the paper counts: with the allocated processors and the recorded
// runtimes.
func readTrace(t testing.TB, name string) (users.Trace, int) {
	t.Helper()
	f, err := swf.Open(refdata.Shared(t, "traces/"+name+".swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	trace := users.Trace{Name: name}
	var r swf.Record
	for i := 0; ; i++ {
		if err := f.Next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		trace.Jobs = append(trace.Jobs, users.Job{
			Index: i, User: r.User, Queue: r.Queue, Procs: int(r.Allocated),
			Submit: float64(r.Submit), Wait: float64(r.Wait), Runtime: float64(r.Runtime),
			Estimate: float64(r.TimeLimit),
		})
	}
	const monday = 4 * 86400 // 1970 began on a Thursday
	_, offset := f.Header().Start().Zone()
	trace.Monday = float64((f.Header().UnixStartTime + int64(offset) + 7*86400 - monday) % (7 * 86400))
	return trace, int(f.Header().MaxProcs)
}

func split(t testing.TB, trace users.Trace, o users.Options) *users.Pools {
	t.Helper()
	p, err := users.Split(trace, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func generator(t testing.TB, cfg users.Config, sources ...users.Source) *users.Generator {
	t.Helper()
	g, err := users.NewGenerator(cfg, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func jobsOf(pool []*users.User) int {
	n := 0
	for _, u := range pool {
		n += len(u.Jobs)
	}
	return n
}
