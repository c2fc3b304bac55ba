// Package console is where the command waitcast reads from and writes to: lines for people, JSON for programs,
// progress.
package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/waitcast/waitcast/internal/terminal"
)

const (
	// Columns is the width of a terminal that nobody has to make wider.
	Columns = 80
	// Labels is the width of the column of labels.
	Labels = 16
)

// Console is where a command reads from and writes to.
type Console struct {
	Stdin io.Reader
	// stdout and stderr take lines for people: run makes them replace what cannot be printed. JSON goes to jsonTo,
	// records to data.
	Stdout, Stderr io.Writer
	// Plain are stdout and stderr as they were given, nil before run.
	Plain [2]io.Writer
	// Terminal is true where stderr is one, on which a line may be written over.
	Terminal bool
	// JSON is true where the answer is for a program.
	JSON bool
}

// IsTerminal reports whether what is written can be written over.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// RawOut returns standard output as it was given.
func (c *Console) RawOut() io.Writer {
	if c.Plain[0] == nil { // nil before run
		return c.Stdout
	}
	return c.Plain[0]
}

// RawErr returns standard error as it was given.
func (c *Console) RawErr() io.Writer {
	if c.Plain[1] == nil { // nil before run
		return c.Stderr
	}
	return c.Plain[1]
}

// JSONTo returns the writer of answers for programs.
func (c *Console) JSONTo() io.Writer { return c.JSONOn(c.RawOut()) }

// JSONOn returns a writer of JSON on another writer.
func (c *Console) JSONOn(to io.Writer) io.Writer { return terminal.NewJSONWriter(to) }

// Data returns the writer of records: every byte of theirs counts, unless a terminal shows them.
func (c *Console) Data() io.Writer {
	if IsTerminal(c.RawOut()) {
		return c.Stdout
	}
	return c.RawOut()
}

// UsageError is a wrong use of the command that shows only once it runs.
type UsageError struct{ problem string }

// NewUsageError returns the error of a wrong use of the command that shows only once it runs.
func NewUsageError(problem string) error { return &UsageError{problem} }

func (e *UsageError) Error() string { return e.problem }

// Open opens a file, or standard input. The size is 0 where it is not known.
func (c *Console) Open(file string) (io.ReadCloser, int64, error) {
	if file == "-" {
		return io.NopCloser(c.Stdin), 0, nil
	}
	log, err := os.Open(file)
	if err != nil {
		return nil, 0, errors.Unwrap(err) // without the file name
	}
	info, err := log.Stat()
	switch {
	case err != nil:
		return nil, 0, errors.Join(err, log.Close())
	case info.IsDir():
		return nil, 0, errors.Join(errors.New("is a folder: name its files"), log.Close())
	case info.Mode().IsRegular():
		return log, info.Size(), nil
	}
	return log, 0, nil
}

// Note writes a line on standard error.
func (c *Console) Note(format string, args ...any) {
	fmt.Fprintln(c.Stderr, "waitcast: "+Printable(fmt.Sprintf(format, args...)))
}

// Progress returns a bar of the given number of bytes on a terminal, or a spinner if size is not known (0). It returns
// an invisible one if there is no terminal or the answer is for a program.
func (c *Console) Progress(size int64) *progressbar.ProgressBar {
	if size == 0 {
		size = -1
	}
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(c.progressTo()), progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(),
		// otherwise progressbar starts a goroutine that turns the spinner, and Clear does not wait for it
		progressbar.OptionSetSpinnerChangeInterval(0),
	)
}

// StageBar is a progress bar of one stage of some work, whose description says how long the rest takes; a spinner where
// the total is not known (0), invisible where progress is not shown.
func (c *Console) StageBar(total int64) *progressbar.ProgressBar {
	if total == 0 {
		total = -1
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(c.progressTo()), progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0),
	)
}

// CountBar is a progress bar that counts jobs or other units; it is invisible where progress is not shown.
func (c *Console) CountBar(n int, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions(max(1, n),
		progressbar.OptionSetWriter(c.progressTo()), progressbar.OptionSetWidth(20), progressbar.OptionShowCount(),
		progressbar.OptionSetItsString(what), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish(),
	)
}

// progressTo returns the writer for progress: standard error if it is a terminal and the answer is for people.
func (c *Console) progressTo() io.Writer {
	if !c.Terminal || c.JSON {
		return io.Discard
	}
	return c.RawErr()
}

// MostNumber bounds the numbers of flags: none means anything beyond.
const MostNumber = 1e12

// ParseNumber reads a number that stands in the text of a flag.
func ParseNumber(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && !(math.Abs(x) <= MostNumber) {
		err = fmt.Errorf("%s: want a number, at most %g", text, MostNumber)
	}
	return x, err
}

// TextPage is text with a column of labels on the left.
type TextPage struct{ bytes.Buffer }

// Line appends a label and its text, wrapped to the columns of the terminal. Spaces inside the text are kept unless it
// must be wrapped.
func (p *TextPage) Line(label, text string) {
	label = Printable(label)
	rows := []string{Printable(text)}
	if len([]rune(text)) > Columns-Labels {
		rows = Wrap(rows[0], Columns-Labels)
	}
	for _, row := range rows {
		p.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", Labels, label, row), " ") + "\n")
		label = ""
	}
}

// Wrap breaks text between words into rows of at most width characters; a longer word is cut.
func Wrap(text string, width int) []string {
	var rows []string
	var row []rune
	for _, word := range strings.Fields(text) {
		next := []rune(word)
		if len(row) > 0 && len(row)+1+len(next) > width {
			rows, row = append(rows, string(row)), nil
		}
		if len(row) > 0 {
			row = append(row, ' ')
		}
		for row = append(row, next...); len(row) > width; row = row[width:] {
			rows = append(rows, string(row[:width]))
		}
	}
	return append(rows, string(row))
}

// Printable returns text of a log, a file or a server for a part of one line.
func Printable(text string) string { return terminal.Line(text) }
