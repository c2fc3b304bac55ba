package tail

import (
	"testing"
	"time"
)

// TestPartialLineWaits proves that a line is delivered only when its end has been written, and then as a whole.
func TestPartialLineWaits(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\ntw")
		r.want("log:1:one")
		r.want("")
		if !r.caughtUp {
			t.Error("a line without end is nothing to read")
		}
		r.write("log", "o")
		r.want("")
		r.start() // a restart must not make it a line
		r.want("")
		r.write("log", "\nthree\n")
		r.want("log:2:two log:3:three")
	})
}

// TestOneShotTakesLastLine proves that one-shot mode takes the last line even without a newline, once, and then ends.
func TestOneShotTakesLastLine(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.OneShot = true
		r.write("log.1", "a\nb")
		r.age("log.1", time.Hour)
		r.write("log", "c\nd\r")
		r.want("log.1:1:a log.1:2:b log:1:c log:2:d")
		if !r.caughtUp {
			t.Error("the last batch of a one-shot has caught up")
		}
		r.start()
		r.want("")
	})
}

// TestPartialLineAtRotation proves that a predecessor whose last line has no end delays its successor for the grace, so
// that the order is kept. Then the tailer reports the line and continues. If the line's end is written later, the line
// is delivered.
func TestPartialLineAtRotation(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\ntw")
		r.want("log:1:one")
		r.rename("log", "log.1")
		r.write("log", "three\n")
		r.want("")
		r.wantAfter(DefaultGrace, "log:1:three", PartialLine)
		r.write("log.1", "o\n")
		r.want("log.1:2:two")
	})
}

// TestCRLF proves that a CRLF line end is removed, but only one carriage return.
func TestCRLF(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\r\n\r\nx\r\n")
		r.want("log:1:one log:2: log:3:x")
	})
}
