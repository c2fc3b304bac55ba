package tail

import (
	"path/filepath"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"
)

// watcher turns file system events into wake-ups. It watches directories, never files. It may miss events; the poll
// finds all changes.
type watcher struct {
	fs       *fsnotify.Watcher
	relevant func(path string) bool
	wake     chan struct{} // capacity 1
	renamed  atomic.Bool   // more than file content changed: list the files
	finished chan struct{}
}

// newWatcher returns a watcher. If the system cannot make one, it returns nil, which reports no events.
func newWatcher(relevant func(string) bool, log *zap.Logger) *watcher {
	w := &watcher{relevant: relevant, wake: make(chan struct{}, 1), finished: make(chan struct{})}
	var err error
	if w.fs, err = fsnotify.NewWatcher(); err != nil {
		log.Warn("no file system events, polling only", zap.Error(err))
		return nil
	}
	go w.run()
	return w
}

func (w *watcher) run() {
	defer close(w.finished)
	for {
		select {
		case ev, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if !w.relevant(ev.Name) {
				continue
			}
			if !ev.Has(fsnotify.Write) {
				w.renamed.Store(true)
			}
		case _, ok := <-w.fs.Errors: // the queue overflowed, so that anything may have changed
			if !ok {
				return
			}
			w.renamed.Store(true)
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// add watches dir. It is called at every poll, so that a directory that did not exist yet, or was replaced, is watched
// as soon as possible.
func (w *watcher) add(dir string) {
	if w != nil {
		_ = w.fs.Add(dir) // dir does not exist yet, or no watches are left; the poll finds all changes
	}
}

func (w *watcher) events() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.wake
}

func (w *watcher) close() error {
	if w == nil {
		return nil
	}
	err := w.fs.Close()
	<-w.finished
	return err
}

// watch adds the directories of the source.
func (t *Tailer) watch() {
	if t.watcher == nil {
		return
	}
	if t.dir {
		t.watcher.add(t.cfg.Path)
		return
	}
	t.watcher.add(filepath.Dir(t.cfg.Path))
	t.watcher.add(filepath.Dir(t.primaryPath()))
	for dir := range t.places() {
		t.watcher.add(dir)
	}
}

// relevant reports whether an event is about a file of the source. In /var/log most events are about other logs.
// relevant runs in the watcher's goroutine, so it uses only the configuration.
func (t *Tailer) relevant(path string) bool {
	name := filepath.Base(path)
	if t.dir {
		return t.matches(t.cfg.Pattern, name) || path == t.cfg.Path
	}
	if name == filepath.Base(t.cfg.Path) || filepath.Dir(path) != filepath.Dir(t.cfg.Path) {
		return true
	}
	for _, p := range t.cfg.Rotated {
		if t.matches(filepath.Base(p), name) {
			return true
		}
	}
	return false
}
