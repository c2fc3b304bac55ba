package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// input is one or several logs, with the instants at which requests are sent while they are read.
type input struct {
	name    string
	ours    bool
	sources []source
	// asked are schedulers that only the daemon with the test's clock polls, because their answers contain the time.
	asked []source
	texts map[string]string // contents of the sources' files
	lines []line            // lines of the only file, if its records have instants
	// history and live are instants at which requests are sent. The daemon is restarted before each instant of history.
	// Before each instant of live, lines are added to the log while the daemon follows it.
	history, live []int64
}

const logFile = "log"

// accountingInput returns a log in PBS' format for which every record's instant is known.
func accountingInput(name string, ours bool, procs int, lines []line, history, live []int64) *input {
	return &input{
		name: name, ours: ours, sources: []source{{cluster: name, format: "pbs", procs: procs, file: logFile}},
		texts: map[string]string{logFile: text(lines)}, lines: lines, history: history, live: live,
	}
}

func ownInput() *input {
	const hour = 3600
	const known = ownStart + 180*hour
	lines := accounting(ownJobs())
	bad := line{at: ownStart + 50*hour}
	bad.text = "03/05/2025 02:00:00;E;7.head;user=user01 queue=short end=soon\nthis is no record\n"
	lines = slices.Insert(lines, cut(lines, bad.at), bad)
	live := []int64{known + 4*hour, known + 8*hour, known + 12*hour}
	return accountingInput("own", true, ownProcs, lines, []int64{known}, live)
}

// traceDays and traceCount limit what is read in one life of the daemon. Samples of the load, one in 6 h, are left out
// if more than 64 wait, and how many wait depends on the machine.
const traceDays, traceCount = 12, 2500

func traceInput(shared string) (*input, error) {
	jobs, err := traceJobs(filepath.Join(shared, "traces", "KTH-SP2-1996-2.1-cln.swf.gz"), traceCount)
	if err != nil {
		return nil, err
	}
	lines := accounting(jobs)
	last := jobs[len(jobs)-1].submit
	var history []int64
	for at := jobs[0].submit + traceDays*86400; at < last-12*3600; at += traceDays * 86400 {
		history = append(history, at)
	}
	history = append(history, last-3*3600)
	return accountingInput("kth", false, 100, lines, history, []int64{last}), nil
}

// siteColumns is the header that site-a.sacct lacks.
const siteColumns = "JobID|JobIDRaw|Cluster|Partition|QOS|Account|Group|GID|User|UID|" +
	"Submit|Eligible|Start|End|Elapsed|" +
	"ExitCode|State|NNodes|NCPUS|ReqCPUS|ReqMem|ReqTRES|AllocTRES|Timelimit|NodeList|JobName\n"

func siteInput(shared string) (*input, error) {
	in := &input{name: "site-a", texts: map[string]string{}}
	in.sources = []source{{cluster: "site-a", format: "slurm-sacct", file: "sacct"}}
	err := in.read("sacct", filepath.Join(shared, "logs", "site-a.sacct"))
	in.texts["sacct"] = siteColumns + in.texts["sacct"]
	return in, err
}

// samplesInput returns a cluster for each of the logs that a real Slurm and a real Grid Engine wrote, and one for an
// answer of slurmrestd.
func samplesInput(shared string) (*input, error) {
	in := &input{name: "samples", texts: map[string]string{}}
	top := filepath.Join(shared, "slurm", "samples")
	for _, s := range []source{
		{cluster: "load-jobcomp", format: "slurm-jobcomp", file: "load/jobcomp.log"},
		{cluster: "load-ctld", format: "slurm-log", file: "load/slurmctld.log"},
		{cluster: "load-sacct", format: "slurm-sacct", file: "load/sacct.psv"},
		{cluster: "cases-jobcomp", format: "slurm-jobcomp", file: "cases/jobcomp.log"},
		{cluster: "cases-ctld", format: "slurm-log", file: "cases/slurmctld.log"},
		{cluster: "cases-sacct", format: "slurm-sacct", file: "cases/sacct.psv"},
		{cluster: "ge-accounting", format: "sge-accounting", file: "gridengine/accounting"},
		{cluster: "ge-reporting", format: "sge-reporting", file: "gridengine/reporting"},
	} {
		path := filepath.Join(top, filepath.FromSlash(s.file))
		s.file = s.cluster
		in.sources = append(in.sources, s)
		if err := in.read(s.file, path); err != nil {
			return nil, err
		}
	}
	jobs, err := os.ReadFile(filepath.Join(top, "rest", "slurm-v0.0.38-jobs.json"))
	in.asked = []source{{cluster: "load-rest", format: "slurm-squeue", answer: string(jobs)}}
	return in, err
}

func (in *input) read(name, path string) error {
	data, err := os.ReadFile(path)
	in.texts[name] = string(data)
	return err
}

var (
	isoInstant  = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d`) //nolint:gochecknoglobals // never written
	unixInstant = regexp.MustCompile(`\b1[4-9]\d{8}\b`)                 //nolint:gochecknoglobals // never written
)

// newest returns the latest instant in the logs, in seconds since 1970.
func (in *input) newest() int64 {
	var newest int64
	for _, text := range in.texts {
		for _, at := range isoInstant.FindAllString(text, -1) {
			if t, err := time.Parse("2006-01-02T15:04:05", at); err == nil {
				newest = max(newest, t.Unix())
			}
		}
		for _, at := range unixInstant.FindAllString(text, -1) {
			seconds, _ := strconv.ParseInt(at, 10, 64)
			newest = max(newest, seconds)
		}
	}
	return newest
}

// stored reads the logs with the real daemon in three pieces, with a kill and a restore in between, and records the
// content of the database.
func (g *golden) stored(ctx context.Context, in *input, database string) error {
	c := g.chapter(in)
	name := in.name + "-" + database
	yaml := ""
	if database == "postgres" {
		yaml = fmt.Sprintf(", url: %q, space: %s, lease: 1s", g.server.URL("postgres"), in.name)
	}
	s, err := newSite(g.tools, name, in.sources, yaml)
	if err != nil {
		return err
	}
	for part := range 3 {
		for file, text := range in.texts {
			if err := s.append(file, third(text, part)); err != nil {
				return err
			}
		}
		program := g.tools.daemon
		if part == 0 && g.first != "" {
			program = g.first
		}
		if err := s.life(ctx, program, part, database); err != nil {
			return fmt.Errorf("%s, life %d: %w", name, part+1, err)
		}
	}
	db := s.path("data/waitcast.db")
	if database == "postgres" {
		db = s.path("copy.db")
		out, err := g.tools.run(ctx, s.dir, "waitcast", "store", "copy", "--from", g.server.URL("postgres"),
			"--space", in.name, "--to", db)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	if in.ours && database == "sqlite" {
		if err := c.perform(ctx, g.tools, s.dir, "store", nil, storeCommands()); err != nil {
			return err
		}
	}
	return c.tables(ctx, database, db, false)
}

// life reads the lines that exist in one life of the daemon. The first life ends by kill -9. The second stops; with
// SQLite it makes a backup before, and then the backup replaces its database.
func (s *site) life(ctx context.Context, program string, part int, database string) error {
	p, err := s.spawn(ctx, program)
	if err != nil {
		return err
	}
	if part == 0 {
		return p.kill()
	}
	backup := s.path("backup.db")
	if part == 1 && database == "sqlite" {
		out, err := s.tools.run(ctx, s.dir, "waitcast", "store", "backup", "--from", s.path("data/waitcast.db"), backup)
		if err != nil {
			return errors.Join(fmt.Errorf("%w: %s", err, out), p.kill())
		}
	}
	if err := p.stop(); err != nil || part != 1 || database != "sqlite" {
		return err
	}
	out, err := s.tools.run(ctx, s.dir, "waitcast", "store", "restore", backup,
		"--to", s.path("data/waitcast.db"), "--replace")
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// third returns the first 40 %, the next 35 % or the last 25 % of a text (for part 0, 1 or 2), cut at line ends.
func third(text string, part int) string {
	at := func(share float64) int {
		n := int(share * float64(len(text)))
		return n + strings.IndexByte(text[n:], '\n') + 1
	}
	cuts := []int{0, at(0.4), at(0.75), len(text)}
	return text[cuts[part]:cuts[part+1]]
}

// answered reads the logs with a daemon on the test's clock and sends all requests at fixed instants. more is called
// last, while the daemon runs.
func (g *golden) answered(ctx context.Context, in *input, more func(*clocked, *world) error) error {
	c := g.chapter(in)
	s, err := newSite(g.tools, in.name+"-answers", slices.Concat(in.sources, in.asked), "")
	if err != nil {
		return err
	}
	if in.lines == nil {
		return g.answeredAtOnce(ctx, c, s, in)
	}
	var d *clocked
	from := 0
	for _, at := range in.history {
		to := cut(in.lines, at)
		if d != nil {
			if err := d.Stop(); err != nil {
				return err
			}
		}
		if err := s.append(logFile, text(in.lines[from:to])); err != nil {
			return err
		}
		from = to
		if d, err = s.clocked(ctx, in.lines[to-1].at+40); err != nil {
			return err
		}
		if err := d.waitUntilQuiet(ctx, -1); err != nil {
			return errors.Join(err, d.Stop())
		}
	}
	w, err := c.instant(ctx, d, in.name, "1")
	for i, at := range in.live {
		if err != nil {
			break
		}
		to := cut(in.lines, at)
		d.now.Store(in.lines[to-1].at + 40)
		piece := text(in.lines[from:to])
		from = to
		if err = d.grow(ctx, piece); err == nil {
			w, err = c.instant(ctx, d, in.name, strconv.Itoa(i+2))
		}
	}
	if err == nil && more != nil {
		err = more(d, w)
	}
	if err := errors.Join(err, d.Stop()); err != nil {
		return err
	}
	return c.tables(ctx, "answers", s.path("data/waitcast.db"), true)
}

// answeredAtOnce sends the requests once everything has been read, because the logs have no instants at which they
// could be cut.
func (g *golden) answeredAtOnce(ctx context.Context, c *chapter, s *site, in *input) error {
	for file, text := range in.texts {
		if err := s.append(file, text); err != nil {
			return err
		}
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	for _, asked := range in.asked {
		if err := s.serve(ctx, asked); err != nil {
			return err
		}
	}
	d, err := s.clocked(ctx, in.newest()+60)
	if err != nil {
		return err
	}
	if err = d.waitUntilQuiet(ctx, -1); err == nil {
		for _, source := range slices.Concat(in.sources, in.asked) {
			if _, err = c.instant(ctx, d, source.cluster, source.cluster); err != nil {
				break
			}
		}
	}
	if err := errors.Join(err, d.Stop()); err != nil {
		return err
	}
	return c.tables(ctx, "answers", s.path("data/waitcast.db"), true)
}

// instant sends all requests now.
func (c *chapter) instant(ctx context.Context, d *clocked, cluster, name string) (*world, error) {
	token, err := os.ReadFile(d.site.path("data/admin-token"))
	if err != nil {
		return nil, err
	}
	w, err := look(ctx, d.site.url, cluster, strings.TrimSpace(string(token)), d.now.Load())
	if err != nil {
		return nil, err
	}
	return w, c.answers(ctx, d.site.url, "answers "+name, w)
}

// grow appends to the log and waits until the daemon has processed the new lines.
func (d *clocked) grow(ctx context.Context, piece string) error {
	before, err := d.lines(ctx)
	if err != nil {
		return err
	}
	if err := d.site.append(logFile, piece); err != nil {
		return err
	}
	return d.waitUntilQuiet(ctx, before+strings.Count(piece, "\n"))
}

func (d *clocked) lines(ctx context.Context) (int, error) {
	m, err := series(ctx, d.site.url)
	n := 0
	for name, value := range m {
		if strings.HasPrefix(name, "waitcast_lines_total{") {
			lines, _ := strconv.ParseFloat(value, 64)
			n += int(lines)
		}
	}
	return n, err
}

const (
	// lookEvery is the event time in seconds between two samples of the load.
	lookEvery = 300
	// calm is the time without any change after which the daemon counts as idle, once it has forecast the load from the
	// newest sample of each cluster. quietFor is that time if such a forecast is missing, because it may never come.
	quietFor, calm = 15 * time.Second, 400 * time.Millisecond
)

// waitUntilQuiet waits until all background work has ended: the daemon has read a number of lines (if known), and has
// given the same answers for a while. If it has forecast the load from the newest sample of each cluster, the while is
// calm, otherwise quietFor.
func (d *clocked) waitUntilQuiet(ctx context.Context, lines int) error {
	was, since := "", time.Now()
	return poll(ctx, func() (bool, error) {
		n, err := d.lines(ctx)
		if err != nil || lines >= 0 && n < lines {
			return false, err
		}
		m, err := series(ctx, d.site.url)
		if err != nil {
			return false, err
		}
		rest := calm
		var seen strings.Builder
		for name, value := range m {
			if labels, ok := strings.CutPrefix(name, "waitcast_as_of_timestamp_seconds"); ok {
				at, _ := strconv.ParseFloat(value, 64)
				made, _ := strconv.ParseFloat(m["waitcast_load_forecast_timestamp_seconds"+labels], 64)
				if made < float64((int64(at)-1)/lookEvery*lookEvery) {
					rest = quietFor
				}
			}
		}
		for _, path := range []string{"/v1/forecast", "/v1/jobs", "/v1/queues"} {
			for _, cluster := range d.clusters(m) {
				_, _, body, err := ask(ctx, d.site.url, request{method: "GET", path: path + "?cluster=" + cluster})
				if err != nil {
					return false, err
				}
				seen.WriteString(body)
			}
		}
		if now := seen.String(); now != was {
			was, since = now, time.Now()
		}
		return time.Since(since) >= rest, nil
	})
}

func (d *clocked) clusters(m map[string]string) []string {
	var out []string
	for name := range m {
		if labels, ok := strings.CutPrefix(name, `waitcast_as_of_timestamp_seconds{cluster="`); ok {
			out = append(out, strings.TrimSuffix(labels, `"}`))
		}
	}
	slices.Sort(out)
	return out
}

// openAPI records the OpenAPI document without its prose.
func (c *chapter) openAPI(ctx context.Context, base string) error {
	_, _, body, err := ask(ctx, base, request{method: "GET", path: "/openapi.json"})
	if err != nil {
		return err
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(body), &document); err != nil {
		return err
	}
	for path, item := range document["paths"].(map[string]any) {
		c.addJSON("openapi"+path, item)
	}
	delete(document, "paths")
	components, _ := document["components"].(map[string]any)
	for kind, all := range components {
		for name, item := range all.(map[string]any) {
			c.addJSON("openapi components/"+kind+"/"+name, item)
		}
	}
	delete(document, "components")
	c.addJSON("openapi", document)
	return nil
}

func (c *chapter) addJSON(name string, v any) {
	text, err := json.Marshal(withoutProse(v))
	if err != nil {
		text = []byte(err.Error())
	}
	c.add(name, maskJSON(text))
}
