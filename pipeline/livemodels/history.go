package livemodels

import (
	"cmp"
	"hash/fnv"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/workload/users"
)

// record is one job that has left. It has the number of the user, because users' names are not kept.
type record struct {
	submit                  int64 // Unix milliseconds
	wait, runtime, estimate float32
	user                    uint32 // from 1; 0: unknown
	queue                   uint32 // index into queues
	procs                   int32
	program                 uint64 // hash of the names of user and job (see program); 0: unknown
}

// neverRan is the runtime of a job that left the queue without a start.
const neverRan = -1

// blockJobs is the number of jobs in a block. Jobs are forgotten in whole blocks.
const blockJobs = 1024

// history keeps the newest jobs that left, in the order in which they left. Records are only appended to a block, never
// changed, so views can share blocks.
type history struct {
	limit  int
	blocks [][]record
	n      int
	forgot bool               // some jobs were forgotten
	users  map[uint64]*member // users with jobs, by the hash of their names
	hashes map[uint32]uint64  // hashes of the names, by user number
	next   uint32
	queues []string
	number map[string]uint32
	// numbers has the users' numbers by the hash of their names, as the newest view has them; nil if they have changed
	// since then.
	numbers map[uint64]uint32
}

// member is a user with jobs in the history.
type member struct {
	number uint32
	jobs   int
}

func newHistory(limit int) *history {
	return &history{limit: limit, users: map[uint64]*member{}, hashes: map[uint32]uint64{}, number: map[string]uint32{}}
}

// add adds a job that has left. runtime is in seconds, or neverRan if the job did not start. With a limit of 0 no job
// is kept.
func (h *history) add(j *cluster.Job, wait time.Duration, runtime float64) {
	if h.limit <= 0 {
		return
	}
	h.append(record{
		submit: j.Order.UnixMilli(), wait: float32(max(0, wait.Seconds())), runtime: float32(runtime),
		estimate: float32(j.TimeLimit.Seconds()), user: h.user(j.User), queue: h.queue(j.Queue),
		procs: int32(max(0, min(j.Procs, math.MaxInt32))), program: program(j.User, j.Name),
	})
}

func (h *history) append(r record) {
	if last := len(h.blocks) - 1; last < 0 || len(h.blocks[last]) == blockJobs {
		h.blocks = append(h.blocks, make([]record, 0, blockJobs))
	}
	last := len(h.blocks) - 1
	h.blocks[last] = append(h.blocks[last], r)
	if h.n++; h.n > h.limit {
		h.forget()
	}
}

// forget drops the oldest block.
func (h *history) forget() {
	for _, r := range h.blocks[0] {
		h.n--
		if r.user == 0 {
			continue
		}
		hash := h.hashes[r.user]
		if u := h.users[hash]; u.jobs > 1 {
			u.jobs--
		} else {
			delete(h.users, hash)
			h.numbers = nil
			delete(h.hashes, r.user)
		}
	}
	h.blocks, h.forgot = slices.Clone(h.blocks[1:]), true
}

// user counts a job of a user and returns the user's number.
func (h *history) user(name string) uint32 {
	if name == "" {
		return 0
	}
	sum := userHash(name)
	u := h.users[sum]
	if u == nil {
		h.next++
		u = &member{number: h.next}
		h.users[sum], h.hashes[h.next], h.numbers = u, sum, nil
	}
	u.jobs++
	return u.number
}

func (h *history) queue(name string) uint32 {
	n, ok := h.number[name]
	if !ok {
		n = uint32(len(h.queues))
		h.queues = append(h.queues, name)
		h.number[name] = n
	}
	return n
}

// HistoryView is an immutable copy of the history.
type HistoryView struct {
	// Limit is the maximum number of jobs that are kept, 0 for none.
	Limit  int
	forgot bool
	blocks [][]record
	queues []string
	// numbers has the users' numbers by the hash of their names.
	numbers map[uint64]uint32
}

func (h *history) view() *HistoryView {
	return &HistoryView{
		Limit: h.limit, forgot: h.forgot, blocks: slices.Clone(h.blocks),
		queues: h.queues[:len(h.queues):len(h.queues)], numbers: h.numbered(),
	}
}

// Jobs returns the jobs of a queue in order of submission; the queue AllQueues means all queues. Submissions are in
// seconds since origin, the submission of the first of these jobs. For a queue without a job in the history the
// results are zero. Users are identified by numbers, from 1; -1 means unknown.
func (v *HistoryView) Jobs(queue string) (jobs []users.Job, origin time.Time) {
	number := slices.Index(v.queues, queue)
	if queue != AllQueues && number < 0 {
		return nil, time.Time{}
	}
	first := int64(math.MaxInt64)
	for r := range v.each(queue, number) {
		first = min(first, r.submit)
		user := int64(r.user)
		if user == 0 {
			user = -1
		}
		jobs = append(jobs, users.Job{
			User: user, Queue: int64(r.queue), Procs: int(r.procs), Submit: float64(r.submit), Wait: toMillis(r.wait),
			Runtime: toMillis(r.runtime), Estimate: toMillis(r.estimate),
		})
	}
	if len(jobs) == 0 { // the queue's jobs are forgotten
		return nil, time.Time{}
	}
	slices.SortStableFunc(jobs, func(a, b users.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range jobs {
		jobs[i].Index, jobs[i].Submit = i, (jobs[i].Submit-float64(first))/1000
	}
	return jobs, time.UnixMilli(first).UTC()
}

// toMillis returns a number of seconds, rounded to a multiple of 0.001.
func toMillis(seconds float32) float64 { return math.Round(float64(seconds)*1000) / 1000 }

// each iterates over the jobs of a queue, in the order in which they left. number is the number of the queue; it is not
// used if queue is AllQueues.
func (v *HistoryView) each(queue string, number int) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, b := range v.blocks {
			for i := range b {
				if (queue == AllQueues || int(b[i].queue) == number) && !yield(&b[i]) {
					return
				}
			}
		}
	}
}

// Queues returns the names of the queues, indexed by their numbers.
func (v *HistoryView) Queues() []string { return v.queues }

// fields reads or writes the history. Instead of users' names it has their hashes.
func (h *history) fields(c *codec.Codec) {
	if c.Reading {
		*h = *newHistory(h.limit)
	}
	codec.Number(c, &h.next)
	c.Flag(&h.forgot)
	codec.List(c, &h.queues, func(name *string) {
		if c.Text(name); c.Reading {
			h.number[*name] = uint32(len(h.number))
		}
	})
	number := func(n *uint32) { codec.Number(c, n) }
	codec.MapOf(c, &h.hashes, cmp.Compare[uint32], number, func(hash *uint64) { c.Hash(hash) })
	if c.Reading {
		for n, hash := range h.hashes {
			h.users[hash] = &member{number: n}
		}
	}
	c.Check(len(h.number) == len(h.queues) && len(h.users) == len(h.hashes), "a queue or a user is there twice")
	var blocks [][]record
	if !c.Reading {
		blocks = h.blocks
	}
	before := int64(0)
	codec.List(c, &blocks, func(block *[]record) {
		codec.List(c, block, func(r *record) {
			r.fields(c, &before)
			if c.Reading && !c.Bad {
				h.resume(c, *r)
			}
		})
	})
}

// fields reads or writes a job. Its submission is stored relative to before, the submission of the previous job, in
// milliseconds. fields sets before to the submission of this job.
func (r *record) fields(c *codec.Codec, before *int64) {
	since := r.submit - *before
	if c.Signed(&since); c.Reading {
		r.submit = *before + since
	}
	*before = r.submit
	c.Single(&r.wait, &r.runtime, &r.estimate)
	codec.Number(c, &r.user, &r.queue)
	codec.Number(c, &r.procs)
	c.Hash(&r.program)
}

// resume adds a job that was read from saved state. It is an error if the queue or the user of the job is not in the
// history.
func (h *history) resume(c *codec.Codec, r record) {
	u := h.users[h.hashes[r.user]]
	if int(r.queue) >= len(h.queues) || r.user != 0 && u == nil {
		c.Failf("a job of queue %d and user %d, which are not there", r.queue, r.user)
		return
	}
	if r.user != 0 {
		u.jobs++
	}
	h.append(r)
}

// userHash returns the hash of a user's name.
func userHash(name string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // never fails
	return hash.Sum64()
}

// numbered returns the users' numbers by the hash of their names. The returned map is never changed.
func (h *history) numbered() map[uint64]uint32 {
	if h.numbers == nil {
		h.numbers = make(map[uint64]uint32, len(h.users))
		for hash, u := range h.users {
			h.numbers[hash] = u.number
		}
	}
	return h.numbers
}

// UserNumber returns the number that a user has in the results of Newest and LeftSince. For an unknown user it returns
// a number that no user has.
func (v *HistoryView) UserNumber(user string) uint64 {
	hash := userHash(user)
	if n, ok := v.numbers[hash]; ok {
		return uint64(n)
	}
	return hash | unnumbered
}

// Newest returns the jobs that left last, the newest first, at most the given number.
func (v *HistoryView) Newest(most int) iter.Seq[Left] {
	return func(yield func(Left) bool) {
		for _, b := range slices.Backward(v.blocks) {
			for i := len(b) - 1; i >= 0; i-- {
				if most--; most < 0 || !yield(v.left(&b[i])) {
					return
				}
			}
		}
	}
}

// LeftSince returns the jobs that left since an instant (Unix milliseconds), the newest first. It returns whole blocks
// of jobs, so some jobs that left earlier may be among them.
func (v *HistoryView) LeftSince(oldest int64) iter.Seq[Left] {
	return func(yield func(Left) bool) {
		for _, b := range slices.Backward(v.blocks) {
			since := false
			for i := len(b) - 1; i >= 0; i-- {
				r := &b[i]
				since = since || r.submit+int64((max(r.wait, 0)+max(r.runtime, 0))*1000) >= oldest
				if !yield(v.left(r)) {
					return
				}
			}
			if !since {
				return
			}
		}
	}
}

// Left is a job in the history.
type Left struct {
	Queue string
	// User is the number of the user, 0 if unknown.
	User uint64
	// Submit is the time of the submission in Unix milliseconds.
	Submit int64
	Procs  int
	Limit  time.Duration
}

func (v *HistoryView) left(r *record) Left {
	limit := time.Duration(float64(r.estimate) * float64(time.Second))
	return Left{v.queues[r.queue], uint64(r.user), r.submit, int(r.procs), limit}
}

// Began returns the instant since which the history has all jobs that left. It returns false if no job was forgotten.
func (v *HistoryView) Began() (time.Time, bool) {
	if len(v.blocks) == 0 || !v.forgot {
		return time.Time{}, false
	}
	r := v.blocks[0][0]
	seconds := float64(max(r.wait, 0)) + float64(max(r.runtime, 0))
	return time.UnixMilli(r.submit + int64(seconds*1000)).UTC(), true
}

// unnumbered is the bit that UserNumber sets in its result for an unknown user.
const unnumbered = 1 << 63
