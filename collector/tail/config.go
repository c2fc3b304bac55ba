package tail

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
)

// These are the defaults of Config. They are a free choice; none is critical.
const (
	DefaultPoll       = time.Second
	DefaultGrace      = 10 * time.Second
	DefaultMaxLine    = 1 << 20
	DefaultBatchBytes = 256 << 10
	DefaultBatchLines = 8192
)

// Config defines what one tailer follows. The zero value of a field is its default.
type Config struct {
	// Source is the name of the source in logs, metrics and errors.
	Source string
	// Path is a file, or a directory of date-named files.
	Path string
	// Pattern, if set, makes Path a directory. It is a glob for the names in the directory, which are read in lexical
	// order (PBS: 20261120). If it is empty and Path is a directory, a start without a checkpoint uses "*".
	Pattern string
	// Rotated are globs (in the last path element) for the rotated predecessors of a file. Relative ones are resolved
	// in the directory of Path. The default is Path.* and Path-*. The predecessors are read in the order of
	// modification time, oldest first, then by name. Names ending in .gz are decompressed. If Path is a symbolic link
	// that is switched from file to file, Rotated must match its targets.
	Rotated []string
	// FromEnd makes a start without a checkpoint begin at the end of the newest file instead of at the beginning of the
	// oldest.
	FromEnd bool
	// OneShot makes Next return io.EOF at the end of all files. A last line without a newline then counts as a line;
	// otherwise Next waits for its newline.
	OneShot bool
	// If NoInotify is set, only the poll finds changes.
	NoInotify bool
	// Poll is the interval at which all files are examined. The default is 1 s.
	Poll time.Duration
	// Grace is how long a predecessor must be unchanged to count as finished, and how long a run of NUL bytes may wait
	// for its data. The default is 10 s.
	Grace time.Duration
	// MaxLine is the maximum length of a returned line in bytes, without its line end. Longer lines are skipped and
	// reported. The default is 1 MiB.
	MaxLine int
	// BatchBytes and BatchLines are the maximum numbers of bytes and lines of a batch. The defaults are 256 KiB and
	// 8192.
	BatchBytes int
	BatchLines int
}

// Clock is the wall clock of a tailer. Tests replace it.
type Clock interface {
	Now() time.Time
	// Ticker returns a channel that receives the time every d, and a function that stops it.
	Ticker(d time.Duration) (c <-chan time.Time, stop func())
}

// Options are optional dependencies of a tailer.
type Options struct {
	Clock   Clock
	Log     *zap.Logger
	Metrics *Metrics
	// Header, if set, is called with the beginning of a file when reading starts in the middle of it, for formats that
	// need the header. An error of Header becomes a Problem, and reading continues.
	Header func(path string, r io.Reader) error
	// Idle is called each time the tailer has polled and found nothing new. All lines that it reads next were written
	// later.
	Idle func()
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Ticker(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// complete checks c and fills in the defaults.
func (c Config) complete() (Config, error) {
	if c.Source == "" {
		return c, errors.New("tail: source: empty; give the source a name")
	}
	if c.Path == "" {
		return c, fmt.Errorf("tail: source %q: path: empty; name a file or a directory", c.Source)
	}
	if c.Poll < 0 || c.Grace < 0 || c.MaxLine < 0 || c.BatchBytes < 0 || c.BatchLines < 0 {
		return c, fmt.Errorf("tail: source %q: poll, grace, max line and batch bounds must not be negative", c.Source)
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return c, fmt.Errorf("tail: source %q: path %q: %w", c.Source, c.Path, err)
	}
	c.Path = path
	orDefault(&c.Poll, DefaultPoll)
	orDefault(&c.Grace, DefaultGrace)
	orDefault(&c.MaxLine, DefaultMaxLine)
	orDefault(&c.BatchBytes, DefaultBatchBytes)
	orDefault(&c.BatchLines, DefaultBatchLines)
	if c.Rotated == nil {
		name := escape(filepath.Base(path))
		c.Rotated = []string{name + ".*", name + "-*"}
	}
	return c, c.checkPatterns()
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (c *Config) checkPatterns() error {
	if _, err := filepath.Match(c.Pattern, "x"); err != nil {
		return fmt.Errorf("tail: source %q: pattern %q: %w", c.Source, c.Pattern, err)
	}
	rotated := make([]string, len(c.Rotated))
	for i, p := range c.Rotated {
		if _, err := filepath.Match(filepath.Base(p), "x"); err != nil {
			return fmt.Errorf("tail: source %q: rotated[%d] %q: %w", c.Source, i, p, err)
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(filepath.Dir(c.Path), p)
		}
		rotated[i] = p
	}
	c.Rotated = rotated
	return nil
}

// escape returns a glob that matches only the given name.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
