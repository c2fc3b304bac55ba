package daemon

import (
	"os"
	"time"
)

// configPollInterval is the time between two checks of the configuration file.
const configPollInterval = time.Second

// fileWatch notices that a file was changed. It polls: editors, configuration management and mounted volumes replace
// files and the folders above them, and network file systems send no events.
type fileWatch struct {
	path string
	used string // content that is in force or was refused
	seen string // content at the last check
}

func newFileWatch(path string) *fileWatch {
	content, _ := os.ReadFile(path) // a file that cannot be read has changed once it can
	return &fileWatch{path: path, used: string(content), seen: string(content)}
}

// changed reports whether the file has another content than the one that was taken last, at two checks in a row: its
// author is done. It takes that content.
func (w *fileWatch) changed() bool {
	if w.path == "" {
		return false
	}
	content, err := os.ReadFile(w.path)
	if err != nil {
		return false // being replaced; a start without it would fail, but this daemon runs
	}
	before := w.seen
	w.seen = string(content)
	if w.seen != before || w.seen == w.used {
		return false
	}
	w.used = w.seen
	return true
}
