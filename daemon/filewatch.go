package daemon

import (
	"os"
	"time"
)

// configPollInterval is the time between two checks of the configuration file.
const configPollInterval = time.Second

// fileWatch notices that a file was changed. It polls, because editors, configuration management and mounted volumes
// replace files and their folders, and because network file systems send no events.
type fileWatch struct {
	path string
	used string // content that was loaded or refused
	seen string // content at the last check
}

func newFileWatch(path string) *fileWatch {
	content, _ := os.ReadFile(path) // a file that cannot be read now counts as changed as soon as it can be read
	return &fileWatch{path: path, used: string(content), seen: string(content)}
}

// changed reports whether the file has new content. The content must be the same at two checks in a row, because its
// author may still be writing. The reported content then counts as used.
func (w *fileWatch) changed() bool {
	if w.path == "" {
		return false
	}
	content, err := os.ReadFile(w.path)
	if err != nil {
		return false // the file is being replaced; a start would fail without it, but this daemon is running
	}
	before := w.seen
	w.seen = string(content)
	if w.seen != before || w.seen == w.used {
		return false
	}
	w.used = w.seen
	return true
}
