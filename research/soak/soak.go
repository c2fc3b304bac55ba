// Package soak lets the real daemon follow a simulated year of a busy cluster with all kinds of disturbances. The log
// is rotated in every way and has bad lines, the machine and the daemon go down, the clock steps, the database fails,
// and the daemon is killed every few simulated days. At the end the daemon's data must equal the data of a daemon that
// read the same log undisturbed. Memory must stay bounded, and forecasts must be calibrated.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

const (
	clusterName = "main"
	sourceName  = "log"
)

// Options define a soak. A zero value means the default.
type Options struct {
	Program string    // path of waitcastd
	Dir     string    // existing folder for logs and databases
	Out     io.Writer // the progress is written here; nil if it is not wanted

	Jobs, Days, Nodes int    // by default 50,000 jobs in 365 days on 10,000 nodes of one processor
	Seed              uint64 // seed of the workload and of the disturbances
	Trace             string // workload file whose users are resampled; "" for a model
	Format            string // one of Formats
	Style             string // one of Styles
	Store             string // one of Stores

	// Every is the mean simulated time between two disturbances, 3 days by default.
	Every time.Duration
	// Memory is the maximum resident memory of a daemon in bytes, 256 MiB by default.
	Memory int64
	// Patience is the maximum time that the daemon may take for one step, for example to start or to read everything
	// that was written; 10 minutes by default.
	Patience time.Duration
	// Calm runs only the undisturbed daemon, for measurements.
	Calm bool
	// Only has the names of the disturbances to use; empty for all.
	Only []string
	// Mild skips the checks of memory and calibration, for runs that are too short for them.
	Mild bool
}

func (o *Options) defaults() error {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&o.Jobs, 50_000)
	set(&o.Days, 365)
	set(&o.Nodes, 10_000)
	text := func(v *string, to string) {
		if *v == "" {
			*v = to
		}
	}
	text(&o.Format, "pbs")
	text(&o.Style, "mixed")
	text(&o.Store, "sqlite")
	if o.Every == 0 {
		o.Every = 3 * 24 * time.Hour
	}
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Minute
	}
	if o.Jobs < 100 || o.Days < 1 || o.Nodes < 128 || o.Every < time.Minute {
		return errors.New("a soak wants 100 jobs, a day, 128 nodes and a minute between disturbances at least")
	}
	return nil
}

// badLines returns the number of bad lines to write into a log. It is so small that the quarantine, which has room for
// 10,000 lines, keeps all of them.
func (o *Options) badLines() int { return min(max(60, o.Jobs/50), 8000) }

// run is the state of a soak.
type run struct {
	o       Options
	m       *machine
	about   string
	logs    *logs
	db      database
	config  string
	program *process
	rng     *rand.Rand // random numbers for the disturbances
	watch   watch
	said    messages
	clients clients
	count   map[string]int
	now     float64 // simulated time
	next    float64 // simulated time of the next rotation of the log
	pace    time.Duration
	pending []byte
	skipped string
	begun   time.Time
}

// Run soaks a daemon and returns the report. An error means that the soak could not continue, or that the daemon ended
// by itself. It wraps ErrSkipped if the soak is impossible on this machine.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	s := &run{o: o, rng: rand.New(rand.NewPCG(o.Seed, 9)), count: map[string]int{}, next: rotateDays * daySeconds,
		pace: 100 * time.Millisecond}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.db.close()) }()
	defer func() {
		if s.program != nil {
			err = errors.Join(err, s.program.kill())
		}
	}()
	r = &Report{o: o, about: s.about}
	s.begun = time.Now()
	if o.Calm {
		err = s.writeAll()
	} else {
		err = s.disturb(ctx, r)
	}
	if err != nil {
		return r, err
	}
	r.disturbed, r.took = s.watch, time.Since(s.begun)
	r.clients = s.clients
	r.tally, r.rotation, r.bytes, r.count, r.said, r.skipped = s.m.tally, s.logs.count, s.logs.bytes, s.count,
		s.said.by, s.skipped
	if err := s.calm(ctx, r); err != nil {
		return r, err
	}
	r.judge()
	return r, nil
}

// epoch returns the instant at which the simulated time begins. It is a Monday, and so long ago that the times in the
// simulated log are not in the future.
func epoch() time.Time { return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) }

func (s *run) prepare(ctx context.Context) error {
	f, err := newFormat(s.o.Format)
	if err != nil {
		return err
	}
	source, about, err := newArrivals(s.o.Trace, s.o.Jobs, s.o.Days, s.o.Nodes, s.o.Seed)
	if err != nil {
		return err
	}
	s.about = about
	if s.m, err = newMachine(epoch(), s.o.Nodes, s.o.Jobs, s.o.badLines(), f, source, s.o.Seed); err != nil {
		return err
	}
	if s.logs, err = newLogs(filepath.Join(s.o.Dir, "logs"), s.o.Style, s.o.Seed); err != nil {
		return err
	}
	if s.logs.dated {
		if err := s.logs.rotate(epoch()); err != nil {
			return err
		}
	}
	s.db, s.skipped, err = newDatabase(ctx, s.o.Store, filepath.Join(s.o.Dir, "db"))
	if err != nil {
		return err
	}
	s.config = filepath.Join(s.o.Dir, "waitcastd.yaml")
	return s.configure(s.config, s.db, "data", 5*time.Minute)
}

// configure writes a configuration of a daemon to path. data is the name of the daemon's data folder. stale is the
// value of stale_after, which affects no stored data, so that a reload may change it.
func (s *run) configure(path string, db database, data string, stale time.Duration) error {
	dir := filepath.Join(s.o.Dir, data)
	queueList := ""
	for _, q := range queues() {
		queueList += fmt.Sprintf("{name: %s},", q)
	}
	text := fmt.Sprintf(`listen: 127.0.0.1:0
data_dir: %q
stale_after: %s
log: {level: info, format: json}
clusters:
  - name: %s
    procs: %d
    time_zone: UTC
    queues: [%s]
    sources: [{name: %s, format: %s, path: %q, poll: 100ms}]
store:
  snapshot_events: %d
  snapshot_interval: 5s
  journal_retention: 4000d
%s
accuracy: {retention: 4000d}
`, dir, stale, clusterName, s.o.Nodes, queueList, sourceName, s.o.Format, s.logs.path,
		min(20_000, max(500, s.o.Jobs/20)), db.yaml())
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, []byte(text), 0o600))
}

// writeAll writes the whole log at once.
func (s *run) writeAll() error {
	for !s.finished() {
		if err := s.burst(1); err != nil {
			return err
		}
	}
	return s.logs.end()
}

func (s *run) finished() bool { return s.m.tally.Jobs >= s.o.Jobs && s.m.over() }

const (
	// rotateDays is the time in days between two rotations of a log that is not dated.
	rotateDays = 7
	// burstLines is the mean number of lines in a burst, for logs with up to 100,000 jobs. Longer logs are written in
	// larger bursts.
	burstLines = 400
)

// burst lets the simulation go on for a random time. On average the log then grows by the lines of a mean burst (see
// burstLines), multiplied by the factor times. It writes these lines in a few pieces. A line may be split between two
// pieces.
func (s *run) burst(times float64) error {
	lines := max(burstLines, float64(s.o.Jobs)/250)
	dt := float64(s.o.Days) * daySeconds * lines / (3 * float64(s.o.Jobs))
	until := s.now + max(1, dt*times*(.5+s.rng.Float64()))
	for s.now < until {
		to := until
		if s.next < to {
			to = s.next
		}
		if err := s.m.run(to, s.append); err != nil {
			return err
		}
		s.now = to
		if to < s.next {
			continue
		}
		if err := errors.Join(s.flush(len(s.pending)),
			s.logs.rotate(epoch().Add(time.Duration(to)*time.Second))); err != nil {
			return err
		}
		s.next += s.rotation()
	}
	if cut := len(s.pending); cut > 0 {
		return errors.Join(s.flush(s.rng.IntN(cut)), s.flush(len(s.pending)))
	}
	return nil
}

func (s *run) rotation() float64 {
	if s.logs.dated {
		return daySeconds
	}
	return rotateDays * daySeconds
}

// mostPending is the number of bytes of lines that may wait to be written. At that number they are written.
const mostPending = 256 << 10

func (s *run) append(line []byte) error {
	if s.pending = append(s.pending, line...); len(s.pending) < mostPending {
		return nil
	}
	return s.flush(len(s.pending) - len(line)/2)
}

// flush writes the first n bytes of the pending lines into the log.
func (s *run) flush(n int) error {
	err := s.logs.write(s.pending[:n])
	s.pending = append(s.pending[:0], s.pending[n:]...)
	return err
}

func (s *run) day() float64 { return s.now / daySeconds }
