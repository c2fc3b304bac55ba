package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job"
)

// machine returns a Machine event.
func machine(second int, facts job.Facts) job.Event {
	ev := event(job.Machine, job.MachineID, second)
	ev.Facts = &facts
	return ev
}

// group returns nodes of 4 processors and 16 GiB.
func group(count, down int, queues ...string) job.NodeGroup {
	return job.NodeGroup{Queues: queues, Count: count, Down: down, Node: job.NodeResources{Procs: 4, Memory: 16 << 30}}
}

// someFacts draws facts of a small machine.
func someFacts(t *rapid.T) *job.Facts {
	var f job.Facts
	for _, queues := range [][]string{{"a"}, {"a", "b"}, {"b"}}[:rapid.IntRange(0, 3).Draw(t, "groups")] {
		f.Nodes = append(f.Nodes,
			group(rapid.IntRange(0, 3).Draw(t, "nodes"), rapid.IntRange(0, 3).Draw(t, "down"), queues...))
	}
	if rapid.Bool().Draw(t, "outage") {
		from := rapid.IntRange(0, 3000).Draw(t, "from")
		f.Outages = []job.Outage{{Name: "m", From: at(from), Until: at(from + 500), Queues: []string{"a"},
			Nodes: 1, Procs: 4}}
	}
	return &f
}

// TestPoolsOfAMachine proves that queues that share nodes form one pool and others do not. A pool excludes nodes that
// are down and present outages.
func TestPoolsOfAMachine(t *testing.T) {
	s := New("c", 1000)
	facts := job.Facts{
		Nodes: []job.NodeGroup{group(10, 1, "long", "short"), group(5, 0, "short"), group(2, 2, "gpu"),
			group(3, 0, "test")},
		Outages: []job.Outage{
			{Name: "maintenance", Maintenance: true, From: at(100), Until: at(200), Queues: []string{"long", "short"},
				Nodes: 9, Procs: 36},
		},
	}
	facts.Nodes[2].Node.GPUs = 8
	feed(s, nil, machine(0, facts))
	sizes := func() map[string]Vector {
		out := map[string]Vector{}
		for _, p := range s.Pools() {
			out[p.Name] = p.Has
		}
		return out
	}
	const gib = 1 << 30
	want := map[string]Vector{
		"long+short": {Procs: 56, Nodes: 14, Memory: 14 * 16 * gib},
		"test":       {Procs: 12, Nodes: 3, Memory: 3 * 16 * gib},
		"gpu":        {},
	}
	if d := cmp.Diff(want, sizes()); d != "" {
		t.Errorf("pools (-want +got): %s", d)
	}
	if got := s.Capacity(); got != 68 || s.Source() != FromScheduler {
		t.Errorf("the cluster has %d processors (%s), want 68 told by the scheduler", got, s.Source())
	}
	short := s.Pool("short")
	if short != s.Pool("long") || short != s.Pool("of another name") || short == s.Pool("test") {
		t.Error("the wrong queues share a pool")
	}
	if got := short.Limit("long", Procs); got != 36 {
		t.Errorf("the queue long can use %d processors, want 36", got)
	}
	if short.Fits("long", 37, Procs) || !short.Fits("short", 56, Procs) || short.Fits("short", 57, Procs) {
		t.Error("a queue's limit is not that of its nodes")
	}
	for second, procs := range map[int]int64{150: 20, 200: 56} {
		s := New("c", 0)
		feed(s, nil, machine(0, facts), event(job.Submit, "1", second-60), event(job.Submit, "2", second))
		if got := s.Pool("short").Has[Procs]; got != procs {
			t.Errorf("at %d s short's pool has %d processors, want %d", second, got, procs)
		}
	}
	if _, v := feed(s, nil, machine(5, facts)); v[0] != Duplicate {
		t.Errorf("the same facts are %v", v[0])
	}
}

// TestUseOfPools proves that what a job holds counts in the job's own pool, from its start to its end. A pool without a
// configured size is as large as the highest use so far.
func TestUseOfPools(t *testing.T) {
	in := func(ev job.Event, queue string, procs int) job.Event {
		ev.Queue, ev.Procs = queue, procs
		return ev
	}
	s := New("c", 0)
	s.SetPools([]PoolConfig{{Name: "batch", Queues: []string{"b"}, Has: Vector{Procs: 100}},
		{Name: "gpu", Queues: []string{"g"}}})
	feed(s, nil, in(event(job.Submit, "1", 0), "b", 30), event(job.Start, "1", 1),
		in(event(job.Submit, "2", 2), "g", 8), event(job.Start, "2", 3))
	used := func() (batch, gpu, has int64) {
		return s.Pool("b").Used[Procs], s.Pool("g").Used[Procs], s.Pool("g").Has[Procs]
	}
	if b, g, has := used(); b != 30 || g != 8 || has != 8 {
		t.Errorf("used %d and %d of %d, want 30 and 8 of the 8 seen in use", b, g, has)
	}
	if s.Capacity() != 108 || s.Source() != FromHighestUse {
		t.Errorf("capacity %d from %s", s.Capacity(), s.Source())
	}
	feed(s, nil, event(job.End, "1", 4), event(job.End, "2", 5))
	if b, g, has := used(); b != 0 || g != 0 || has != 8 {
		t.Errorf("after the ends %d and %d of %d are in use", b, g, has)
	}
}

// TestWhatBinds proves that the dimension that is fullest while jobs wait becomes the binding one. Without waiting jobs
// a full dimension means nothing.
func TestWhatBinds(t *testing.T) {
	gpu := job.NodeGroup{Queues: []string{"g"}, Count: 4,
		Node: job.NodeResources{Procs: 64, GPUs: 4, Memory: 512 << 30}}
	ask := func(id string, second, procs, gpus int, memory int64) job.Event {
		ev := event(job.Submit, id, second)
		ev.Attributes = job.Attributes{Queue: "g", Procs: procs, GPUs: gpus, Memory: memory}
		return ev
	}
	hour := 3600
	for _, c := range []struct {
		name     string
		running  job.Event
		waits    bool
		want     Dimension
		capacity int
		size     int
	}{
		{"every GPU in use", ask("1", 0, 32, 16, 1<<30), true, GPUs, 16, 4},
		{"every GPU in use and nobody waits", ask("1", 0, 32, 16, 1<<30), false, Procs, 256, 8},
		{"the memory in use", ask("1", 0, 32, 1, 2048<<30), true, Memory, 256, 16},
		{"processors in use", ask("1", 0, 256, 2, 1<<30), true, Procs, 256, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New("c", 0)
			events := []job.Event{machine(0, job.Facts{Nodes: []job.NodeGroup{gpu}}), c.running,
				event(job.Start, "1", 1)}
			if c.waits {
				events = append(events, ask("2", 2, 1, 1, 1))
			}
			feed(s, nil, append(events, ask("3", 24*hour, 1, 1, 1))...)
			p := s.Pool("g")
			request := job.Attributes{Procs: 8, GPUs: 4, Memory: 16 * 8 << 30}
			d := p.Dimension(&request)
			if p.Binds != c.want || d != c.want || p.Capacity(d) != c.capacity || p.Size(&request, d) != c.size {
				t.Errorf("%v binds, the request is %d of %d %v; want %d of %d %v", p.Binds, p.Size(&request, d),
					p.Capacity(d), d, c.size, c.capacity, c.want)
			}
		})
	}
}

// TestDimensionOfARequest proves that a job that uses nothing of its pool's scarce dimension is counted in processors.
// Whole nodes count with everything that they have.
func TestDimensionOfARequest(t *testing.T) {
	binds := GPUs
	s := New("c", 0)
	s.SetPools([]PoolConfig{{Name: "g", Queues: []string{"g"}, Has: Vector{Procs: 64, GPUs: 8}, Binds: &binds}})
	if d := s.Pool("g").Dimension(&job.Attributes{Procs: 8}); d != Procs {
		t.Errorf("%v bind a job without GPUs", d)
	}
	p := Pool{Has: Vector{Procs: 64, Nodes: 4}, Node: Vector{Procs: 16, Nodes: 1}, Binds: Nodes}
	for _, c := range []struct {
		a    job.Attributes
		d    Dimension
		size int
	}{
		{job.Attributes{Procs: 17}, Nodes, 2}, {job.Attributes{Procs: 1, Nodes: 3}, Nodes, 3},
		{job.Attributes{Procs: 1, Nodes: 3, Whole: true}, Procs, 48}, {job.Attributes{Procs: 5}, Procs, 5},
	} {
		if got := p.Size(&c.a, c.d); got != c.size {
			t.Errorf("%+v takes %d %v, want %d", c.a, got, c.d, c.size)
		}
	}
}

// TestArrayWithACount proves that an array waits as one record with a count. A task that starts is a job of its own,
// with the array's attributes, and the last one keeps the array's id.
func TestArrayWithACount(t *testing.T) {
	s := New("c", 0)
	array := event(job.Submit, "9", 0)
	told := event(job.Update, "9", 15)
	told.Attributes = job.Attributes{Queue: "q", User: "u", Procs: 2, TimeLimit: time.Hour, Tasks: 3}
	feed(s, nil, array, told)
	changes, _ := feed(s, nil, event(job.Start, "9_1", 20), event(job.Start, "9_1", 20), event(job.Start, "9_2", 30))
	whole := s.Job("9")
	if whole.Tasks != 1 || len(s.Queued()) != 1 || len(s.Running()) != 2 || s.Used() != 4 {
		t.Errorf("%d tasks wait as %d records, %d run on %d processors; want 1, 1, 2, 4", whole.Tasks, len(s.Queued()),
			len(s.Running()), s.Used())
	}
	first := s.Job("9_1")
	if first.Queue != "q" || first.User != "u" || first.TimeLimit != time.Hour || first.Tasks != 0 ||
		!first.Submit.Equal(at(0)) {
		t.Errorf("the first task is %+v", *first)
	}
	again := New("c", 0)
	feed(again, nil, array, told)
	replay(t, again, changes)
	if d := cmp.Diff(bytesOf(t, s), bytesOf(t, again)); d != "" {
		t.Errorf("replayed (-want +got): %s", d)
	}
	feed(s, nil, event(job.Start, "9", 40))
	if last := s.Job("9"); !last.Running() || last.Tasks != 0 || len(s.Queued()) != 0 {
		t.Errorf("the last task is %+v", *last)
	}
}

// TestPastJobsDoNotRaiseTheCapacity proves that a job that is reported only after its end does not raise the learnt
// capacity: what the job held is not added to what the present jobs hold.
func TestPastJobsDoNotRaiseTheCapacity(t *testing.T) {
	s := New("c", 0)
	running := event(job.Start, "1", 100)
	running.Procs = 10
	old := with(event(job.End, "0", 200), 20, 30)
	old.Procs = 8
	changes, _ := feed(s, nil, running, old)
	if s.Capacity() != 10 {
		t.Errorf("the capacity is %d, want 10", s.Capacity())
	}
	again := New("c", 0)
	replay(t, again, changes)
	if again.Capacity() != 10 {
		t.Errorf("replayed, the capacity is %d, want 10", again.Capacity())
	}
}
