package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/job"
)

// sources checks every source of every cluster, and then the sources of a cluster together.
func (c *checker) sources(ctx context.Context) {
	logs, err := daemon.Sources(c.cfg, c.opts.Now)
	if err != nil { // cannot happen: the configuration was validated
		c.add("config.sources", Failed, "configuration", "", "%v", err)
		return
	}
	byName := map[string]*source.Config{}
	for i := range logs {
		byName[logs[i].Name] = &logs[i]
	}
	c.sharedLogs()
	for _, configured := range c.cfg.Clusters {
		of := &clusterReadings{cluster: configured, jobs: map[string]*seen{}}
		if len(configured.Sources) == 0 {
			c.add("cluster.sources", Failed, "cluster "+configured.Name, "give it a source", "it has no source")
		}
		c.zone(&configured)
		c.histories(&configured)
		for _, s := range configured.Sources {
			name := configured.Name + "/" + s.Name
			if s.IsPolled() {
				c.poll(ctx, &configured, &s, of)
			} else if log := byName[name]; log != nil {
				c.log(ctx, log, of)
			}
		}
		c.cluster(of)
		c.visibility(of)
	}
}

// sharedLogs warns of a log that several clusters read. Only a dump of sacct names the cluster of each job.
func (c *checker) sharedLogs() {
	readers := map[[2]string]string{}
	for _, configured := range c.cfg.Clusters {
		for _, s := range configured.Sources {
			log := [2]string{filepath.Clean(s.Path), s.Pattern}
			if s.Path == "" || s.Format == slurm.SacctName {
				continue
			}
			if other := readers[log]; other != "" && other != configured.Name {
				c.add("cluster.shared", Warning, "source "+configured.Name+"/"+s.Name,
					"give each cluster its own log", "%s is read by cluster %s too, so that its jobs count in both",
					s.Path, other)
			}
			readers[log] = configured.Name
		}
	}
}

// zone reports the time zone of the times in a cluster's logs.
func (c *checker) zone(configured *config.Cluster) {
	about := "cluster " + configured.Name
	location, err := configured.Location()
	if err != nil {
		c.add("cluster.time_zone", Failed, about, "use an IANA name such as Europe/Berlin", "%v", err)
		return
	}
	at := c.now.In(location)
	c.add("cluster.time_zone", OK, about, "", "time_zone %s: it is %s there", configured.TimeZone,
		at.Format("Mon 15:04 -07:00"))
}

// log checks a source that is a log. A panic on the way is a finding.
func (c *checker) log(ctx context.Context, log *source.Config, of *clusterReadings) {
	if caught := panics.Catch(func() { c.inspect(ctx, log, of) }); caught != nil {
		c.add("log.pipeline", Failed, "source "+log.Name, aBug, "reading it: %v", caught)
	}
}

// inspect does the work of log.
func (c *checker) inspect(ctx context.Context, log *source.Config, of *clusterReadings) {
	about := "source " + log.Name
	if log.Journal != nil {
		c.journal(ctx, log, about)
		return
	}
	files, others, err := list(&log.Files)
	if err != nil {
		status := Failed
		if _, there := os.Stat(filepath.Dir(log.Files.Path)); errors.Is(err, fs.ErrNotExist) && there == nil {
			status = Warning // a Warning suffices, because the log may appear later
		}
		c.add("log.there", status, about, accessHint(err, log.Files.Path, c.User, letRead), "%v", err)
		return
	}
	isFolder := len(files) == 0 || files[len(files)-1].Path != log.Files.Path
	hint, ofSlurmctld := accessHinter(letRead), log.Format.Name == slurm.LogName && !isFolder
	if ofSlurmctld {
		hint = c.letReadCtld
	}
	if !c.readable(about, log.Files.Path, isFolder, hint) {
		return
	}
	if ofSlurmctld {
		c.stays(about, log.Files.Path)
	}
	c.rotation(log, about, files, others, isFolder)
	if len(files) == 0 {
		return
	}
	newest := files[len(files)-1]
	if isFolder && !c.readable(about, newest.Path, false, letRead) {
		return
	}
	if !c.format(log, about, files) {
		return
	}
	if !c.rehearse(ctx, log, about, files) {
		return
	}
	t := c.try(ctx, log, files, of)
	c.newest(log, about, &newest, t)
	c.lines(about, t.Source)
}

// rotation reports which files belong to the log, and which have similar names but do not belong to it.
func (c *checker) rotation(log *source.Config, about string, files []File, others []string, isFolder bool) {
	var bytes int64
	for _, f := range files {
		bytes += f.Bytes
	}
	text := fmt.Sprintf("%s, %s", plural(len(files), "file"), size(bytes))
	if len(others) > 3 {
		others = append(others[:3:3], "...")
	}
	switch {
	case len(files) == 0 && len(others) > 0:
		c.add("log.files", Failed, about, "correct the source's pattern",
			"no file of %s matches pattern %q, as do not %s", log.Files.Path, log.Files.Pattern,
			strings.Join(others, ", "))
	case len(files) == 0:
		c.add("log.files", Warning, about, "nothing to do if the scheduler has just begun to write there",
			"%s is empty", log.Files.Path)
	case len(others) > 0 && !isFolder:
		c.add("log.files", Warning, about, "if they are older parts of the log, name them by the source's rotated",
			"%s; beside it are %s, which rotated does not match: they would not be read", text,
			strings.Join(others, ", "))
	case len(others) > 0:
		c.add("log.files", OK, about, "", "%s; %s do not match the pattern", text, strings.Join(others, ", "))
	default:
		c.add("log.files", OK, about, "", "%s", text)
	}
}

// format checks whether the first lines look like the configured format. It returns false if they look like another
// format, cannot be read, or do not exist.
func (c *checker) format(log *source.Config, about string, files []File) bool {
	var sample [][]byte
	var err error
	for _, f := range slices.Backward(files) {
		var lines [][]byte
		if lines, err = f.head(); err != nil {
			break
		}
		if sample = append(sample, lines...); len(sample) >= headLines {
			break
		}
	}
	if err != nil {
		c.add("log.format", Failed, about, "", "%v", err)
		return false
	}
	if len(sample) == 0 {
		c.add("log.format", Warning, about, "nothing to do if the scheduler has just begun to write there",
			"there is no line yet")
		return false
	}
	found := source.Recognize(sample, log.Options, append([]collector.Format{log.Format}, log.Others...))
	switch {
	case slices.Contains(found, log.Format.Name):
		c.add("log.format", OK, about, "", "the first lines are %s", log.Format.Name)
	case len(found) > 0:
		c.add("log.format", Failed, about, "set the source's format to "+found[0]+", or its path to another file",
			"the first %s contain no job in format %s, but do in format %s", plural(len(sample), "line"),
			log.Format.Name, found[0])
		return false
	case accepts(&log.Format, log.Options, sample):
		c.add("log.format", OK, about, "", "the first %s are of format %s, none about a job",
			plural(len(sample), "line"), log.Format.Name)
	default:
		c.add("log.format", Warning, about, "look at them: is it the right file?",
			"none of the first %s contains a job in format %s or another known one", plural(len(sample), "line"),
			log.Format.Name)
	}
	return true
}

// accepts reports whether a format reads all lines without an error.
func accepts(f *collector.Format, o collector.Options, lines [][]byte) bool {
	parser := f.New(o)
	return !slices.ContainsFunc(lines, func(line []byte) bool { return parser.Parse(line, func(job.Event) {}) != nil })
}

// These limit the checks of times. ahead is how wrong a scheduler's clock may be. Zones differ from UTC by multiples of
// quarter (tz database), and at most by farZone. near is the maximum time from an event to the line that reports it. A
// live log whose newest record is older than silent causes a warning.
const (
	ahead   = 5 * time.Minute
	quarter = 15 * time.Minute
	near    = 90 * time.Second
	farZone = 14 * time.Hour
	silent  = 24 * time.Hour
)

// newest compares the time of the newest record with the present time and with the modification time of the file.
func (c *checker) newest(log *source.Config, about string, file *File, t *trial) {
	if t.Newest == nil {
		return
	}
	zone, age := orLocal(log.Options.Location).String(), c.now.Sub(*t.Newest)
	off := t.written(log, file)
	at := t.Newest.In(orLocal(log.Options.Location)).Format("2006-01-02 15:04:05 -07:00")
	hint := "set time_zone of the cluster to that of the scheduler's host, or set the clock of one of the hosts right"
	if off != 0 {
		hint += ", or set clock_offset of the source to " + clockOffset(log, off)
	}
	status := Warning
	if age < -ahead {
		status = Failed
	}
	switch {
	case zoned(off):
		_, offset := t.Newest.In(orLocal(log.Options.Location)).Zone()
		fits := time.Duration(offset)*time.Second + off.Round(quarter)
		c.add("log.time", status, about, hint, "the newest record, read as %s, is %s %s than the file was written: "+
			"as UTC%s it would fit (time_zone is %s)",
			at, spell(off.Abs()), direction(off), offsetText(fits), zone)
	case age < -ahead:
		c.add("log.time", Failed, about, hint, "the newest record is of %s, %s in the future (time_zone is %s)", at,
			spell(-age), zone)
	case off != 0:
		c.add("log.time", Warning, about, hint,
			"the newest record is of %s, %s %s than the file was written (time_zone is %s)", at, spell(off.Abs()),
			direction(off), zone)
	// Only for live logs: the files of the workload archives are old.
	case age > silent && log.Format.Order == collector.Live:
		c.add("log.time", Warning, about,
			"nothing to do if the cluster was idle; else: is it still this file that the scheduler writes?",
			"the newest record is of %s, %s ago", at, spell(age))
	default:
		c.add("log.time", OK, about, "", "the newest record is of %s, %s ago", at, spell(max(0, age)))
	}
	if skew := file.Modified.Sub(c.now); skew > ahead {
		c.add("log.clock", Warning, about, "set the clocks of the file server and of this host right",
			"%s was written %s in the future by this host's clock", filepath.Base(file.Path), spell(skew))
	}
}

// written returns by how much the time of the last record is after the modification time of the file. It returns 0 if
// that does not prove that the clocks disagree, in four cases: the difference is small; it is larger than farZone, so
// it comes from one odd record or from a copied file; the format does not write lines when things happen; or lines
// without a job follow the record, so that the file may rightly be newer, and no zone explains the difference.
func (t *trial) written(log *source.Config, file *File) time.Duration {
	off := t.last.Sub(file.Modified)
	if !t.lastTells && !zoned(off) {
		off = max(off, 0)
	}
	live := log.Format.Order == collector.Live && !strings.HasSuffix(log.Format.Name, "sacct") && !file.gzip()
	if !live || off.Abs() <= ahead || off.Abs() > farZone {
		return 0
	}
	return off
}

// zoned reports whether a difference can come from a wrong zone.
func zoned(off time.Duration) bool {
	zones := off.Round(quarter)
	return zones != 0 && zones.Abs() <= farZone && (off-zones).Abs() <= near
}

// clockOffset returns the value of clock_offset that corrects a log whose times are wrong by the duration off.
func clockOffset(log *source.Config, off time.Duration) string {
	if log.ClockOffset != nil {
		off += *log.ClockOffset
	}
	return off.Round(time.Second).String()
}

func direction(d time.Duration) string {
	if d > 0 {
		return "later"
	}
	return "earlier"
}

func orLocal(l *time.Location) *time.Location {
	if l == nil {
		return time.Local
	}
	return l
}

// offsetText formats an offset from UTC, for example +02:00.
func offsetText(d time.Duration) string {
	return time.Time{}.In(time.FixedZone("", int(d.Seconds()))).Format("-07:00")
}
