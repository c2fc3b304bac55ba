package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/swflog"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
)

// logFlags are the flags of commands that read recorded logs.
type logFlags struct {
	format, columns, zone, cluster string
}

func (f *logFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "format", "",
		"format of the logs, as the daemon's configuration names it; by default each file's content shows it")
	flags.StringVar(&f.columns, "columns", "",
		"columns of a dump of sacct without a header, separated by commas, as in its --format")
	flags.StringVar(&f.cluster, "cluster", "",
		"name of the cluster whose jobs are read, if a dump of sacct has those of several")
	flags.StringVar(&f.zone, "time-zone", "",
		"zone of local times in the logs, such as Europe/Berlin; by default that of this host")
}

// location returns the time zone of the logs. It returns nil if none is given.
func (f *logFlags) location() (*time.Location, error) {
	if f.zone == "" {
		return nil, nil
	}
	loc, err := time.LoadLocation(f.zone)
	if err != nil {
		return nil, console.NewUsageError(fmt.Sprintf("--time-zone %s: no such zone: want one such as Europe/Berlin",
			f.zone))
	}
	return loc, nil
}

// config returns the configuration with which logs are read.
func (f *logFlags) config() (history.Config, error) {
	loc, err := f.location()
	if err != nil {
		return history.Config{}, err
	}
	cfg := history.Config{
		Formats: history.Formats(time.Now), Format: f.format, Now: time.Now(),
		Options: collector.Options{Location: loc, Columns: f.columns, Only: f.cluster, Recorded: true},
	}
	if f.format != "" {
		if _, err := history.Named(cfg.Formats, f.format); err != nil {
			return cfg, console.NewUsageError("--format: " + err.Error())
		}
	}
	if f.columns == "" {
		return cfg, nil
	}
	if f.format != "" && f.format != slurm.SacctName {
		return cfg, console.NewUsageError("--columns are those of format " + slurm.SacctName)
	}
	cfg.Format = slurm.SacctName
	if err := slurm.CheckSacctColumns(f.columns); err != nil {
		return cfg, console.NewUsageError("--columns: " + err.Error())
	}
	return cfg, nil
}

// areWorkloads separates files in the Standard Workload Format from other files. It leaves out empty files if there are
// others, because logs are empty after a rotation or on a day without jobs.
func (a *Commands) areWorkloads(paths []string, cfg *history.Config) (workloads, others []string, err error) {
	var empty error
	for _, path := range paths {
		switch f, err := history.FormatOf(path, cfg); {
		case errors.Is(err, history.ErrEmpty):
			empty = err
			a.Note("%s: the file is empty and is left out", path)
		case err != nil:
			return nil, nil, err
		case f.Name == swflog.Name:
			workloads = append(workloads, path)
		default:
			others = append(others, path)
		}
	}
	if len(workloads)+len(others) == 0 {
		return nil, nil, empty
	}
	return workloads, others, nil
}

// readFile is the result of reading a file, with the number of notices about it, and the number of records that were
// left out for each reason.
type readFile struct {
	history.File
	reasons map[string]int64
	notices int64
}

// readLives reads the files of one log, in any order. On standard error it reports which records could not be used.
func (a *Commands) readLives(ctx context.Context, paths []string, cfg history.Config) (l *lives.Lives,
	files []readFile, err error) {
	bad := lineReport{to: a.Console}
	cfg.OnBad, cfg.OnNotice = bad.refused, bad.notice
	h, err := history.Read(ctx, paths, cfg)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	l, err = lives.Fold(func(do func(job.Event) error) error {
		return h.Each(func(ev *history.Event) error { return do(ev.Event) })
	})
	bad.summarize()
	for _, f := range h.Files {
		files = append(files, *bad.of(f.Path))
		files[len(files)-1].File = f
		delete(bad.files, f.Path) // a file that is named twice counts once
	}
	return l, files, err
}

// shownBad is the maximum number of lines that are reported one by one for each reason.
const shownBad = 3

// lineReport reports bad lines on standard error: the first ones of each reason, and the total.
type lineReport struct {
	to      *console.Console
	counts  map[string]int
	reasons []string
	notices int
	files   map[string]*readFile // by path
}

// of returns the counts of a file.
func (b *lineReport) of(path string) *readFile {
	f := b.files[path]
	if f == nil {
		if f = (&readFile{}); b.files == nil {
			b.files = map[string]*readFile{}
		}
		b.files[path] = f
	}
	return f
}

func (b *lineReport) refused(line source.BadLine) {
	f := b.of(line.Path)
	if f.reasons == nil {
		f.reasons = map[string]int64{}
	}
	f.reasons[line.Reason]++
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	if b.counts[line.Reason]++; b.counts[line.Reason] == 1 {
		b.reasons = append(b.reasons, line.Reason)
	}
	if b.counts[line.Reason] <= shownBad {
		b.to.Note("%s:%d: left out: %v", line.Path, line.Number, line.Err)
	}
}

func (b *lineReport) notice(line source.BadLine) {
	b.of(line.Path).notices++
	if b.notices++; b.notices <= shownBad {
		b.to.Note("%s:%d: %v", line.Path, line.Number, line.Err)
	}
}

// summarize reports the number of lines that were left out for each reason, and the number of notices, unless all of
// them were shown.
func (b *lineReport) summarize() {
	for _, reason := range b.reasons {
		if n := b.counts[reason]; n > shownBad {
			b.to.Note("%d records in all were left out for reason %s", n, reason)
		}
	}
	if b.notices > shownBad {
		b.to.Note("%d notices in all", b.notices)
	}
}

// openText opens a plain, gzip or zstd file. closeText closes it.
func openText(path string) (text io.Reader, closeText func(), err error) {
	file, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, nil, err
	}
	text, release, err := history.Decompressed(file)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return text, func() { release(); _ = file.Close() }, nil // nothing was written
}

// summary describes in one line what was read: "3 files, pbs, 1200 records, 2 left out".
func summary(files []readFile) string {
	var records, bad int64
	var formats []string
	for _, f := range files {
		records, bad = records+f.Records, bad+f.Bad
		if len(formats) == 0 || formats[len(formats)-1] != f.Format {
			formats = append(formats, f.Format)
		}
	}
	text := fmt.Sprintf("%s, %d records", strings.Join(formats, " and "), records)
	if len(files) > 1 {
		text = fmt.Sprintf("%d files, %s", len(files), text)
	}
	if bad > 0 {
		text += fmt.Sprintf(", %d left out", bad)
	}
	return text
}
