package main

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
)

// size has the numbers of jobs and of different names in a log.
type size struct{ jobs, users, accounts, hosts, queues int }

// line is a record that is not written yet.
type line struct {
	at     time.Time
	number int // number of the line; determines the order within an instant
	text   []byte
}

type pending []line

func (p pending) Len() int { return len(p) }

func (p pending) Less(i, j int) bool {
	if !p[i].at.Equal(p[j].at) {
		return p[i].at.Before(p[j].at)
	}
	return p[i].number < p[j].number
}

func (p pending) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push implements heap.Interface.
func (p *pending) Push(x any) { *p = append(*p, x.(line)) } //nolint:forcetypeassert // heap.Push below gives lines

// Pop implements heap.Interface.
func (p *pending) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// Jobs arrive every 25 s on average, wait for seconds to five minutes, and run for one to twenty minutes. So there are
// few jobs at a time, and forecasts cost little compared with what grows.
const meanGap, longestWait, shortest, longest = 25, 300, 60, 1200

// writeLog writes an accounting log, in the order of the instants of its records. The log ends about three hours before
// now, so that no record is in the future.
func writeLog(path string, s size) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	at := time.Now().UTC().Truncate(time.Second).Add(-time.Duration(s.jobs*meanGap)*time.Second - 3*time.Hour)
	var queue pending
	lines := 0
	put := func(at time.Time, text []byte) {
		heap.Push(&queue, line{at, lines, text})
		lines++
	}
	flush := func(until time.Time) error {
		for len(queue) > 0 && queue[0].at.Before(until) {
			if _, err := w.Write(heap.Pop(&queue).(line).text); err != nil { //nolint:forcetypeassert // they are lines
				return err
			}
		}
		return nil
	}
	for i := range s.jobs {
		at = at.Add(time.Duration(random.IntN(2*meanGap+1)) * time.Second)
		j := s.job(random, i, at)
		put(j.Queued, pbs.AppendQueued(nil, j))
		put(j.Start, pbs.AppendStarted(nil, j))
		put(j.End, pbs.AppendEnded(nil, j))
		if err := flush(at); err != nil {
			return err
		}
	}
	if err := flush(at.Add(24 * time.Hour)); err != nil {
		return err
	}
	return w.Flush()
}

// job returns the job with a number.
func (s size) job(random *rand.Rand, i int, at time.Time) pbs.Record {
	between := func(a, b float64) time.Duration {
		return time.Duration(a*math.Exp(random.Float64()*math.Log(b/a))) * time.Second
	}
	user := "flood"
	if i%2 == 0 {
		user = fmt.Sprint("user", i/2%max(1, s.users-1))
	}
	queue := random.IntN(4)
	if random.IntN(4) == 0 {
		queue = random.IntN(s.queues)
	}
	procs := int(math.Exp2(12 * random.Float64()))
	start := at.Add(between(1, longestWait))
	runtime := between(shortest, longest)
	return pbs.Record{
		ID: fmt.Sprint(i+1, ".server"), User: user, Group: "users", Account: fmt.Sprint("account", i%s.accounts),
		Name: fmt.Sprint("name", i), Queue: fmt.Sprint("queue", queue), Created: at, Queued: at, Eligible: at,
		Start: start, End: start.Add(runtime), ExecHost: fmt.Sprintf("host%d/0*%d", i%s.hosts, procs), Procs: procs,
		Nodes: 1, TimeLimit: runtime + time.Duration(random.IntN(7200))*time.Second,
	}
}
