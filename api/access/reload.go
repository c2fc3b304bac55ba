package access

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// recheck is the minimum time between two checks of the files while requests come. A change takes effect at the first
// request that comes at least recheck after the last check.
const recheck = time.Second

// reloaded is a value that is read from files, and read again when one of them changes. If the files become unusable,
// the old value stays. The files are checked at each use of the value, so no goroutine is needed.
type reloaded[T any] struct {
	// kind is the name of the file in the log and in metrics: tokens, web_config.
	kind string
	// make returns the value and the files from which it was made. It returns these files also with an error.
	make    func() (T, []string, error)
	now     func() time.Time
	log     *zap.Logger
	metrics *metrics

	value  atomic.Pointer[T]
	mu     sync.Mutex
	looked time.Time
	stamps map[string]stamp
}

// stamp distinguishes two states of a file.
type stamp struct {
	modified time.Time
	size     int64
	inode    uint64
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size(), inode(info)}
}

// load makes the value for the first time. It sets no metric: Guard.noteFiles does that when the value comes into
// force.
func (r *reloaded[T]) load() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.again()
}

// again makes the value, stores it unless there is an error, and notes the states of its files. The caller holds the
// lock.
func (r *reloaded[T]) again() error {
	r.looked = r.now()
	value, files, err := r.make()
	r.stamps = map[string]stamp{}
	for _, f := range files {
		r.stamps[f] = stampOf(f)
	}
	if err == nil {
		r.value.Store(&value)
	}
	return err
}

// get returns the present value. Before that it checks the files, if the last check was at least recheck ago.
func (r *reloaded[T]) get() *T {
	if r.mu.TryLock() { // if another goroutine is checking, use the present value
		defer r.mu.Unlock()
		if now := r.now(); now.Sub(r.looked) >= recheck || now.Before(r.looked) {
			r.looked = now
			r.refresh()
		}
	}
	return r.value.Load()
}

// refresh reads the value again if a file has changed. The caller holds the lock.
func (r *reloaded[T]) refresh() {
	changed := false
	for f, was := range r.stamps {
		changed = changed || stampOf(f) != was
	}
	if !changed {
		return
	}
	err := r.again()
	r.metrics.file(r.kind, err == nil)
	if err != nil {
		r.log.Error("a changed file cannot be used; what it said before stays in force", zap.String("file", r.kind),
			zap.Error(err))
		return
	}
	r.log.Info("a changed file is in force", zap.String("file", r.kind))
}
