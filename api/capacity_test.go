package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

// TestNowAndWaitAgreeBeyondProcs proves that GET /v1/now and GET /v1/wait have the same capacity and the same free
// processors while more processors are in use than the capacity, and afterwards. It does so for a configured capacity,
// and for one that the engine has learnt from the highest use.
func TestNowAndWaitAgreeBeyondProcs(t *testing.T) {
	for name, c := range map[string]pipeline.ClusterConfig{"configured": main(10), "highest use": {Name: "main"}} {
		f := serve(t, c)
		begin := f.history("main", "work")
		var events []job.Event
		for round := range 100 { // 7 jobs of 2 processors at a time
			for i := range 7 {
				at := begin + float64(600*round)
				events = append(events, one{id: fmt.Sprint("o", round, "-", i), queue: "work", procs: 2, submit: at,
					start: at + 1, end: at + 300}.events("main")...)
			}
		}
		f.feed("main", events...)
		begin += 600 * 100
		f.tick("main", "work", begin)
		f.sameRoom(name + ", nothing runs")
		for i, procs := range []int{6, 5, 4} {
			at := begin + float64(600*(i+1))
			f.feed("main", one{id: fmt.Sprint("r", i), queue: "work", procs: procs, limit: 2 * time.Hour, submit: at,
				start: at, end: -1}.events("main")...)
			f.tick("main", "work", at+60)
			f.sameRoom(fmt.Sprintf("%s, %d run", name, i+1))
		}
		f.feed("main", job.Event{Kind: job.End, Cluster: "main", ID: "r0", Time: at(begin + 2400),
			Times: job.Times{End: at(begin + 2400)}})
		f.tick("main", "work", begin+2460)
		f.sameRoom(name + ", one has ended")
	}
}

// sameRoom compares capacity and free processors of GET /v1/now with those of GET /v1/wait and GET /v1/queues.
func (f *fixture) sameRoom(when string) {
	f.Helper()
	q, w := f.nowIn("work"), f.wait("queue=work&procs=1&time_limit=600")
	var queues wire.Queues
	f.get("/v1/queues", &queues)
	p := queues.Pools[0]
	if q.Procs != w.State.Capacity || q.Free != w.State.Free || int64(q.Procs) != p.Capacity.Procs {
		f.Errorf("%s: /v1/now has %d of %d free, /v1/wait %d of %d, /v1/queues a pool of %d", when, q.Free, q.Procs,
			w.State.Free, w.State.Capacity, p.Capacity.Procs)
	}
	for _, o := range q.Openings {
		if o.Procs > q.Free {
			f.Errorf("%s: an opening of %d processors, %d are free", when, o.Procs, q.Free)
		}
	}
}
