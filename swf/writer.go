package swf

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Writer writes a workload file. It buffers data until Flush is called.
type Writer struct {
	out *bufio.Writer
	buf []byte
}

// NewWriter returns a Writer that writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: bufio.NewWriter(out)} }

// WriteHeader writes the header: its Lines in order, then the fields that are set, then queues and partitions by
// number. A Reader returns an equal header for it. It returns an error for a text with a line break, and for a name
// that is empty or has blanks around it.
func (w *Writer) WriteHeader(h *Header) error {
	for _, line := range h.Lines {
		if !strings.HasPrefix(line, ";") || strings.Contains(line, "\n") {
			return fmt.Errorf("write workload header: line %q must start with ';' and be one line", line)
		}
		w.line(line)
	}
	w.number("UnixStartTime", h.UnixStartTime)
	w.number("TimeZone", h.TimeZone)
	if h.TimeZoneString != "" {
		if err := checkText("TimeZoneString", h.TimeZoneString); err != nil {
			return err
		}
		w.line("; TimeZoneString: " + h.TimeZoneString)
	}
	w.number("MaxNodes", h.MaxNodes)
	w.number("MaxProcs", h.MaxProcs)
	if err := w.names("Queue", h.Queues); err != nil {
		return err
	}
	return w.names("Partition", h.Partitions)
}

// Write writes one record as 18 numbers separated by single spaces. It returns an error for a CPUTime that is not
// finite.
func (w *Writer) Write(r *Record) error {
	if math.IsNaN(r.CPUTime) || math.IsInf(r.CPUTime, 0) {
		return fmt.Errorf("write job %d: CPU time is %v, want a finite number", r.ID, r.CPUTime)
	}
	b := w.buf[:0]
	for _, v := range [...]int64{r.ID, r.Submit, r.Wait, r.Runtime, r.Allocated} {
		b = append(strconv.AppendInt(b, v, 10), ' ')
	}
	b = append(strconv.AppendFloat(b, r.CPUTime, 'f', -1, 64), ' ')
	for _, v := range [...]int64{
		r.Memory, r.RequestedProcs, r.TimeLimit, r.RequestedMem, r.Status, r.User, r.Group, r.Executable, r.Queue,
		r.Partition, r.Preceding, r.ThinkTime,
	} {
		b = append(strconv.AppendInt(b, v, 10), ' ')
	}
	b[len(b)-1] = '\n'
	w.buf = b
	_, err := w.out.Write(b)
	return err
}

// Flush writes all buffered data to the underlying writer. It also returns the error of an earlier failed write.
func (w *Writer) Flush() error { return w.out.Flush() }

// line writes a header line. The buffered writer keeps the first error for Flush.
func (w *Writer) line(text string) {
	_, _ = w.out.WriteString(text)
	_ = w.out.WriteByte('\n')
}

func (w *Writer) number(key string, n int64) {
	if n != 0 {
		w.line("; " + key + ": " + strconv.FormatInt(n, 10))
	}
}

func (w *Writer) names(key string, names map[int64]string) error {
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if n < 0 {
			return fmt.Errorf("write workload header: %s number %d is negative", key, n)
		}
		if err := checkText(key, names[n]); err != nil {
			return err
		}
		w.line("; " + key + ": " + strconv.FormatInt(n, 10) + " " + names[n])
	}
	return nil
}

func checkText(key, text string) error {
	if text == "" || strings.TrimSpace(text) != text || strings.Contains(text, "\n") {
		return fmt.Errorf("write workload header: %s %q must be one line without blanks around it, not empty", key,
			text)
	}
	return nil
}
