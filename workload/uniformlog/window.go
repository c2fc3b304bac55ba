package uniformlog

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrFull is returned by [Window.Add] if the window already has 2^31 - 1 jobs.
var ErrFull = errors.New("window is full")

const (
	maxJobs = math.MaxInt32
	// minBulk is the minimum number of pending jobs for which adding them together is faster.
	minBulk = 4096
	// bulkShare is the number of jobs in a list whose rebuild takes as long as inserting or dropping one job.
	bulkShare = 16
)

// A windowJob is one entry of the window. Entries are ordered by start and then by lifetime. Entries that compare as
// equal are identical, so that nothing depends on their order.
type windowJob struct {
	start int64 // in microseconds since 1970
	value int32 // quantized ln lifetime
}

func (j windowJob) compare(k windowJob) int {
	switch {
	case j.start < k.start || j.start == k.start && j.value < k.value:
		return -1
	case j == k:
		return 0
	}
	return 1
}

func (j windowJob) before(k windowJob) bool {
	return j.start < k.start || j.start == k.start && j.value < k.value
}

// Window keeps the lifetimes of the most recently started jobs. It can fit them at any time without visiting all of
// them.
//
// The window is by start, because a window by end favors short jobs. Its content depends only on the added jobs. It
// leaves out the jobs that started before the latest limit set by [Window.Expire]. Of the others it keeps the
// maxCount jobs that started last; of jobs with equal starts, the longer ones. Starts are kept to the microsecond,
// lifetimes to 1.2e-7 of their value. Lifetimes below 1 s count as 1 s.
//
// Only one goroutine may use a Window; several may use a [Sample] of it. Create a Window with [NewWindow].
type Window struct {
	maxCount int
	maxAge   time.Duration
	cut      int64 // jobs that started before this instant are left out, in microseconds since 1970

	heap    []windowJob // heap of the jobs that are in list, with the earliest start at the top
	list    list        // the sorted values of the jobs in heap
	pending []windowJob // jobs that are not yet in heap and list
}

// NewWindow returns an empty window for at most maxCount jobs that started at most maxAge ago. 0 or less means no
// limit.
func NewWindow(maxCount int, maxAge time.Duration) *Window {
	return &Window{maxCount: max(maxCount, 0), maxAge: max(maxAge, 0), cut: math.MinInt64}
}

// Add adds an ended job to the window. Jobs may be added in any order of start or end. A job that started before the
// limit of an earlier Expire is left out without an error, because the next Expire would drop it. The error wraps
// [ErrLifetime] or [ErrFull].
//
// Adding is cheap (about 20 ns). The work is done when results are requested, for all added jobs together if that is
// faster.
func (w *Window) Add(start time.Time, lifetimeSeconds float64) error {
	v, err := quantize(lifetimeSeconds)
	if err != nil {
		return err
	}
	j := windowJob{start.UnixMicro(), v}
	if j.start < w.cut {
		return nil
	}
	if len(w.pending)+len(w.heap) >= maxJobs {
		return fmt.Errorf("uniformlog: %w: it holds %d jobs; set a limit", ErrFull, maxJobs)
	}
	w.pending = append(w.pending, j)
	if w.maxCount > 0 && len(w.pending) >= max(minBulk, w.maxCount) {
		w.addPending()
	}
	return nil
}

// Expire drops the jobs that started more than the window's maxAge before now. A later call with an earlier now does
// not bring them back. Without a maxAge, Expire does nothing.
func (w *Window) Expire(now time.Time) {
	if w.maxAge == 0 {
		return
	}
	w.cut = max(w.cut, now.Add(-w.maxAge).UnixMicro())
	if len(w.pending) >= max(minBulk, len(w.heap)) {
		w.addPending()
	}
}

// N returns the number of jobs in the window.
func (w *Window) N() int {
	w.addPending()
	return len(w.heap)
}

// Fit fits the law to the window (Downey 1996, sec. 4). The result's At is the given instant. The error wraps
// [ErrTooFew] or [ErrNoSpread].
func (w *Window) Fit(at time.Time) (Fit, error) {
	w.addPending()
	f, err := w.list.fit()
	if err != nil {
		return Fit{}, err
	}
	f.At = at
	return f, nil
}

// Snapshot returns the present lifetimes of the window, for use in any goroutine. It shares memory with the window
// and costs a few microseconds per 100,000 jobs.
func (w *Window) Snapshot() *Sample {
	w.addPending()
	return &Sample{leaves: w.list.view(), n: w.list.n}
}

// addPending adds the pending jobs to heap and list and applies the limits.
func (w *Window) addPending() {
	if len(w.pending)*bulkShare > len(w.heap) {
		w.rebuild()
		return
	}
	for _, j := range w.pending {
		if j.start >= w.cut {
			w.heap = append(w.heap, j)
			siftUp(w.heap)
			w.list.insert(j.value)
		}
	}
	w.pending = w.pending[:0]
	for budget := len(w.heap) / bulkShare; w.overdue(); budget-- {
		if budget == 0 {
			w.rebuild()
			return
		}
		w.list.remove(w.heap[0].value)
		last := len(w.heap) - 1
		w.heap[0] = w.heap[last]
		w.heap = w.heap[:last]
		siftDown(w.heap, 0)
	}
}

// overdue reports whether the job with the earliest start must be dropped.
func (w *Window) overdue() bool {
	return len(w.heap) > 0 && (w.heap[0].start < w.cut || w.maxCount > 0 && len(w.heap) > w.maxCount)
}

// rebuild does the same as addPending, in a time that is linear in the size of the window.
func (w *Window) rebuild() {
	jobs := append(w.heap, w.pending...)
	if cap(w.pending) > minBulk {
		w.pending = nil // releases the memory of a bulk import
	}
	w.pending = w.pending[:0]
	jobs = slices.DeleteFunc(jobs, func(j windowJob) bool { return j.start < w.cut })
	if w.maxCount > 0 && len(jobs) > w.maxCount {
		selectLatest(jobs, w.maxCount)
		jobs = jobs[:w.maxCount]
	}
	for i := len(jobs)/2 - 1; i >= 0; i-- {
		siftDown(jobs, i)
	}
	w.heap = jobs
	w.fillList()
}

func (w *Window) fillList() {
	vals := make([]int32, len(w.heap))
	for i, j := range w.heap {
		vals[i] = j.value
	}
	sortValues(vals)
	w.list.fill(vals)
}

// siftUp moves the last job of the heap to its place. container/heap would allocate for every job.
func siftUp(h []windowJob) {
	i := len(h) - 1
	j := h[i]
	for i > 0 {
		up := (i - 1) / 2
		if !j.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = j
}

// siftDown moves job i of the heap to its place.
func siftDown(h []windowJob, i int) {
	if i >= len(h) {
		return
	}
	j := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(j) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = j
}

// selectLatest moves the k jobs with the latest starts to the front. It uses Hoare's selection algorithm.
func selectLatest(jobs []windowJob, k int) {
	for lo, hi := 0, len(jobs)-1; lo < hi; {
		pivot := medianOf(jobs[lo], jobs[lo+(hi-lo)/2], jobs[hi])
		i, j := lo, hi
		for i <= j {
			for pivot.before(jobs[i]) {
				i++
			}
			for jobs[j].before(pivot) {
				j--
			}
			if i <= j {
				jobs[i], jobs[j] = jobs[j], jobs[i]
				i++
				j--
			}
		}
		switch {
		case k-1 <= j:
			hi = j
		case k-1 >= i:
			lo = i
		default:
			return
		}
	}
}

func medianOf(a, b, c windowJob) windowJob {
	if b.before(a) {
		a, b = b, a
	}
	if c.before(b) {
		b = c
		if b.before(a) {
			b = a
		}
	}
	return b
}
