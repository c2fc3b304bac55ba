// Package console has the inputs and outputs of the command waitcast: text for people, JSON for programs, and
// progress bars.
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
	// Columns is the width of a usual terminal in characters.
	Columns = 80
	// Labels is the width of the column of labels.
	Labels = 16
)

// Console has the inputs and outputs of a command.
type Console struct {
	Stdin io.Reader
	// Stdout and Stderr receive text for people. Before a command runs, they are wrapped in writers that replace
	// characters that cannot be printed. JSON is written to JSONTo, and records are written to Data.
	Stdout, Stderr io.Writer
	// Plain are standard output and standard error without these replacements. They are nil before a command runs.
	Plain [2]io.Writer
	// Terminal is true if standard error is a terminal, on which a line may be overwritten.
	Terminal bool
	// JSON is true if the answer is for a program.
	JSON bool
}

// IsTerminal reports whether w is a terminal, on which lines can be overwritten. It is also true for other character
// devices, such as /dev/null.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// RawOut returns standard output without the replacement of characters.
func (c *Console) RawOut() io.Writer {
	if c.Plain[0] == nil { // nil before a command runs
		return c.Stdout
	}
	return c.Plain[0]
}

// RawErr returns standard error without the replacement of characters.
func (c *Console) RawErr() io.Writer {
	if c.Plain[1] == nil { // nil before a command runs
		return c.Stderr
	}
	return c.Plain[1]
}

// JSONTo returns the writer of answers for programs.
func (c *Console) JSONTo() io.Writer { return c.JSONOn(c.RawOut()) }

// JSONOn returns a writer that passes JSON on to another writer, with escapes for characters that cannot be printed.
func (c *Console) JSONOn(to io.Writer) io.Writer { return terminal.NewJSONWriter(to) }

// Data returns the writer of records. It writes every byte unchanged, except to a terminal.
func (c *Console) Data() io.Writer {
	if IsTerminal(c.RawOut()) {
		return c.Stdout
	}
	return c.RawOut()
}

// UsageError is an error of usage that is found only after the command has started.
type UsageError struct{ problem string }

// NewUsageError returns an error of usage that was found after the command has started.
func NewUsageError(problem string) error { return &UsageError{problem} }

func (e *UsageError) Error() string { return e.problem }

// Open opens a file, or standard input if its name is "-". The returned size is 0 if it is not known.
func (c *Console) Open(file string) (io.ReadCloser, int64, error) {
	if file == "-" {
		return io.NopCloser(c.Stdin), 0, nil
	}
	log, err := os.Open(file)
	if err != nil {
		return nil, 0, errors.Unwrap(err) // the error without the file name
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

// Progress returns a progress bar for the given number of bytes, or a spinner if size is 0, which means unknown.
// Without a terminal, or if the answer is for a program, the bar is invisible.
func (c *Console) Progress(size int64) *progressbar.ProgressBar {
	if size == 0 {
		size = -1
	}
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(c.progressTo()), progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(),
		// Without this, progressbar starts a goroutine that turns the spinner, and Clear does not wait for that
		// goroutine.
		progressbar.OptionSetSpinnerChangeInterval(0),
	)
}

// StageBar returns a progress bar for one stage of some work. It shows no times; the caller sets its text by Describe.
// If the total is 0, which means unknown, it returns a spinner. If progress is not shown, the bar is invisible.
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

// CountBar returns a progress bar that counts jobs or other units. If progress is not shown, the bar is invisible.
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

// MostNumber is the maximum absolute value of a number in a flag. No flag needs larger numbers.
const MostNumber = 1e12

// ParseNumber parses a number that is a part of a flag's text. It refuses NaN and absolute values above MostNumber.
func ParseNumber(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && !(math.Abs(x) <= MostNumber) {
		err = fmt.Errorf("%s: want a number, at most %g", text, MostNumber)
	}
	return x, err
}

// TextPage is a text with a column of labels on the left.
type TextPage struct{ bytes.Buffer }

// Line appends a label and a text, wrapped so that lines have at most Columns characters. Spaces inside the text are
// kept unless the text must be wrapped.
func (p *TextPage) Line(label, text string) {
	label = Printable(label)
	if len([]rune(label)) >= Labels {
		label += " "
	}
	rows := []string{Printable(text)}
	if len([]rune(text)) > Columns-Labels {
		rows = Wrap(rows[0], Columns-Labels)
	}
	for _, row := range rows {
		p.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", Labels, label, row), " ") + "\n")
		label = ""
	}
}

// Wrap breaks text between words into rows of at most width characters. It cuts words that are longer.
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

// Printable returns a text of a log, a file or a server as a printable part of one line.
func Printable(text string) string { return terminal.Line(text) }
