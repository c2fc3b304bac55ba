package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/collector/lsf"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/swflog"
	"github.com/waitcast/waitcast/job"
)

// Formats returns the formats that recorded logs may have. now returns the wall-clock time; it is needed because the
// times in some logs have no year.
func Formats(now func() time.Time) []collector.Format {
	return []collector.Format{
		slurm.Sacct(), slurm.SacctJSON(), slurm.Jobcomp(), slurm.Log(now), pbs.Format(), sge.Accounting(),
		sge.Reporting(), lsf.Acct(), lsf.Events(), swflog.Format(),
	}
}

// Names returns the names of formats, sorted.
func Names(formats []collector.Format) []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// Named returns the format with a name.
func Named(formats []collector.Format, name string) (collector.Format, error) {
	at := slices.IndexFunc(formats, func(f collector.Format) bool { return f.Name == name })
	if at < 0 {
		return collector.Format{}, fmt.Errorf("unknown format %q; known: %s", name,
			strings.Join(Names(formats), ", "))
	}
	return formats[at], nil
}

// These limit how much of a file is read to recognize its format. The header of a workload file has up to about 100
// lines.
const (
	headBytes = 256 << 10
	headLines = 400
)

// ErrUnrecognized means that the format of a file could not be recognized.
var ErrUnrecognized = errors.New("no known format finds jobs in its first lines")

// ErrEmpty means that a file whose format was not named is empty, or empty after decompression.
var ErrEmpty = errors.New("the file is empty: is it the right one?")

// Recognize recognizes the format of a text by its beginning. It returns the format and a reader of the whole text.
func Recognize(text io.Reader, o collector.Options, formats []collector.Format) (collector.Format, io.Reader, error) {
	buffered := bufio.NewReaderSize(text, headBytes)
	head, err := buffered.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return collector.Format{}, buffered, err
	}
	if len(head) == 0 {
		return collector.Format{}, buffered, ErrEmpty
	}
	o.Notice, o.Only, o.Recorded = nil, "", false // options about single jobs do not matter here
	if logtext.IsUTF16(head) {
		return collector.Format{}, buffered, source.ErrUTF16
	}
	if sge.IsJSON(head) {
		return collector.Format{}, buffered, sge.ErrJSON
	}
	f, ok := recognize(head, o, formats)
	if !ok {
		err = fmt.Errorf("%w; give the format if you know it, one of %s", ErrUnrecognized,
			strings.Join(Names(formats), ", "))
		if isOtherSacct(head) {
			err = fmt.Errorf("%w; it looks like output of sacct without the necessary columns: run sacct -a -X -D -P "+
				"-S DATE --format=%s", err, slurm.SacctColumns)
		}
		return f, buffered, err
	}
	return f, buffered, nil
}

// isOtherSacct reports whether the first line of a text is a header that sacct writes, with or without its option -P.
func isOtherSacct(head []byte) bool {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	names := strings.FieldsFunc(string(first), func(r rune) bool { return r == '|' || r == ' ' })
	return slices.Contains(names, "JobID") || slices.Contains(names, "JobIDRaw")
}

// recognize returns the format of a text, given its beginning. It ignores the last line, which may be incomplete.
func recognize(head []byte, o collector.Options, formats []collector.Format) (collector.Format, bool) {
	var byLine []collector.Format
	for _, f := range formats {
		if f.Records == nil {
			byLine = append(byLine, f)
			continue
		}
		if isDocumentOf(f, head, o) {
			return f, true
		}
	}
	lines := bytes.Split(head, []byte("\n"))
	if len(lines) > 1 { // the last line is empty or incomplete
		lines = lines[:len(lines)-1]
	}
	names := source.Recognize(lines[:min(len(lines), headLines)], o, byLine)
	if len(names) == 0 {
		return collector.Format{}, false
	}
	f, err := Named(formats, names[0])
	return f, err == nil
}

// isDocumentOf reports whether head is the beginning of a document whose first record has the given format. A
// complete document without records counts too.
func isDocumentOf(f collector.Format, head []byte, o collector.Options) bool {
	trimmed := bytes.TrimLeft(logtext.Trim(head), " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return false
	}
	record, _, err := f.Records(bytes.NewReader(head)).Next()
	if err != nil { // the first record may be longer than the head
		return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	o.MaxProcs = 0 // records of any size count
	var bad *collector.LineError
	err = f.New(o).Parse(record, func(job.Event) {})
	return !errors.As(err, &bad) || bad.Reason != collector.ReasonFormat
}

// FormatOf returns the format of the file at a path. That is the format in cfg, or else the format that the beginning
// of the file shows.
func FormatOf(path string, cfg *Config) (collector.Format, error) {
	if cfg.Format != "" {
		return Named(cfg.Formats, cfg.Format)
	}
	from, err := cfg.open(path)
	if err != nil {
		return collector.Format{}, err
	}
	defer func() { _ = from.Close() }() // nothing was written
	text, closeText, err := Decompressed(from)
	if err != nil {
		return collector.Format{}, fmt.Errorf("%s: %w", path, err)
	}
	defer closeText()
	f, _, err := Recognize(text, cfg.Options, cfg.Formats)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return f, err
}
