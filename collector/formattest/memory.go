package formattest

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// These bound the events and memory that one line may cost.
const (
	// maxEvents is the maximum number of events of a line.
	maxEvents = 2 * 1001
	// A parser may allocate baseBytes for a line, and bytesPerByte for each of its bytes.
	baseBytes    = 1 << 20
	bytesPerByte = 100
	// keptBytes is the maximum memory that a parser may keep after any number of lines.
	keptBytes = 8 << 20
)

// costOf parses a line and returns how many events it made and how many bytes were allocated for it.
func costOf(p collector.Parser, line []byte) (events int, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = p.Parse(line, func(job.Event) { events++ })
	runtime.ReadMemStats(&after)
	return events, after.TotalAlloc - before.TotalAlloc
}

// checkCost tests that a line costs p at most maxEvents events and the allowed number of allocated bytes.
func checkCost(t *testing.T, p collector.Parser, line []byte) {
	t.Helper()
	events, bytes := costOf(p, line)
	if events > maxEvents {
		t.Errorf("a line of %d bytes made %d events, want at most %d: %.80q", len(line), events, maxEvents, line)
	}
	if most := uint64(baseBytes + bytesPerByte*len(line)); bytes > most {
		t.Errorf("a line of %d bytes made the parser allocate %d bytes, want at most %d: %.80q", len(line),
			bytes, most, line)
	}
}

// stretched is the length to which testWorst extends a field of a good line: long enough to show a cost that grows
// faster than the line.
const stretched = 32 << 10

// fillers are long field values. They occur in logs, or in a line that is made to do harm.
var fillers = [...]func(i int) string{
	func(int) string { return "x" },                                      // a long name
	func(i int) string { return fmt.Sprintf("n%d,", i) },                 // hosts (Slurm)
	func(i int) string { return fmt.Sprintf("n%d/0+", i) },               // hosts (PBS)
	func(i int) string { return fmt.Sprintf("%q ", fmt.Sprint("n", i)) }, // hosts (LSF)
	func(i int) string { return fmt.Sprintf("%d,", 2*i) },                // a sparse list of indexes
	func(int) string { return "[0-0]" },                                  // a host with many dimensions
	func(i int) string { return fmt.Sprintf("n[%d-1000000],", i) },
	func(i int) string { return fmt.Sprintf("k%d=1,", i) }, // resources
	func(i int) string { return fmt.Sprintf("1:ncpus=%d+", i) },
}

// testWorst parses the worst lines, and good lines with one field made very long, all with one parser. It tests the
// cost of each line, and the memory that the parser keeps.
func (s Suite) testWorst(t *testing.T) {
	p := s.parser()
	before := liveBytes()
	for _, line := range s.Worst {
		checkCost(t, p, []byte(line))
	}
	for _, line := range s.Good {
		for _, word := range words.FindAllStringIndex(line.Line, -1) {
			filler := fillers[word[0]%len(fillers)]
			checkCost(t, p, []byte(line.Line[:word[0]]+Repeat(stretched, filler)+line.Line[word[1]:]))
		}
	}
	if kept := liveBytes() - before; kept > keptBytes {
		t.Errorf("after the worst lines the parser keeps %d bytes, want at most %d", kept, keptBytes)
	}
	runtime.KeepAlive(p)
}

// words are the parts of a line that may be field values.
var words = regexp.MustCompile(`[0-9A-Za-z_.-]+`)

// Repeat returns a text of about the given number of bytes: piece(1), piece(2) and so on, without the last separator.
func Repeat(bytes int, piece func(i int) string) string {
	var b strings.Builder
	for i := 1; b.Len() < bytes; i++ {
		b.WriteString(piece(i))
	}
	return strings.TrimRight(b.String(), ",+ ")
}

func liveBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
