package tail

import (
	"testing"
	"time"
)

// A line is handed out when its end is there, whole, and not before.
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

// In a one-shot the last line counts without newline, once, and then it ends.
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

// A predecessor whose last line has no end holds its successor back for the
// grace, so that order is kept; then it is given up aloud. Should the end come
// after all, the line is handed out.
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

// CRLF line ends are taken off, and only one carriage return is.
func TestCRLF(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("log", "one\r\n\r\nx\r\n")
		r.want("log:1:one log:2: log:3:x")
	})
}
