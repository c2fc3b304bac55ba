package tail

import (
	"errors"
	"testing"
	"time"
)

// faulty is a file on a disk that fails.
type faulty struct {
	source
	err error
}

func (f *faulty) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// TestReadErrors proves that a read error is reported once, that each poll opens the file again, and that reading
// continues from the same place once the error is over.
func TestReadErrors(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "1\n")
		r.want("log:1:1")
		r.write("log", "2\n")
		f := r.tailer.files[0]
		f.src = &faulty{f.src, errors.New("input/output error")}
		r.want("", Unreadable)
		r.wantAfter(time.Second, "log:2:2")
		r.start()
		r.want("")
	})
}
