package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// disturbance is one action that disturbs the daemon while it reads.
type disturbance struct {
	name   string
	weight int
	do     func(context.Context) error
}

func (s *run) disturbances() []disturbance {
	all := []disturbance{
		{"killed", 8, s.killed},
		{"killed twice", 2, s.killedTwice},
		{"down for days", 2, s.downForDays},
		{"stopped in order", 2, s.stopped},
		{"reloaded", 4, s.reloaded},
		{"reload of a broken configuration", 1, s.misread},
		{"flooded by a client", 2, s.floodedByClient},
	}
	if s.db.failure() != "" {
		all = append(all, disturbance{s.db.failure(), 3, s.failed},
			disturbance{s.db.failure() + " and daemon killed", 1, s.failedAndKilled})
	}
	if _, ok := s.db.(onFile); ok {
		all = append(all, disturbance{"database deleted", 1, s.deleted})
	}
	if _, ok := s.db.(*smallFile); ok {
		all = append(all, disturbance{"disk read-only at the start", 1, s.readOnly})
	}
	return slices.DeleteFunc(all, func(d disturbance) bool {
		return len(s.o.Only) > 0 && !slices.Contains(s.o.Only, d.name)
	})
}

// disturb writes the log while a disturbed daemon follows it, and finally lets a daemon read it to its end.
func (s *run) disturb(ctx context.Context, r *Report) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	all, chances := s.disturbances(), 0
	if len(all) == 0 {
		return fmt.Errorf("none of the disturbances %q can befall this database", s.o.Only)
	}
	for _, d := range all {
		chances += d.weight
	}
	queue := s.rng.Perm(len(all)) // each once, then at random
	for !s.finished() {
		until := s.now + s.rng.ExpFloat64()*s.o.Every.Seconds()
		for s.now < until && !s.finished() {
			if err := s.follow(ctx); err != nil {
				return err
			}
		}
		d := all[s.draw(all, chances)]
		if len(queue) > 0 {
			d, queue = all[queue[0]], queue[1:]
		}
		s.watch.look(ctx, s.program, s.m.tally.Lines, s.day())
		if err := s.burst(1); err != nil {
			return err
		}
		wait(ctx, time.Duration(s.rng.Float64()*1.5*float64(s.pace)))
		s.count[d.name]++
		s.tell("day %.1f: %s", s.day(), d.name)
		if err := d.do(ctx); err != nil {
			return fmt.Errorf("day %.1f, after %q: %w", s.day(), d.name, err)
		}
	}
	return s.finish(ctx, r)
}

// tell reports the progress.
func (s *run) tell(format string, args ...any) {
	if s.o.Out != nil {
		fmt.Fprintf(s.o.Out, "%s %s\n", time.Since(s.begun).Round(10*time.Millisecond), fmt.Sprintf(format, args...))
	}
}

func (s *run) draw(all []disturbance, chances int) int {
	n := s.rng.IntN(chances)
	for i, d := range all {
		if n -= d.weight; n < 0 {
			return i
		}
	}
	return 0
}

// wait waits for a duration; the instants of disturbances are random.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// follow writes a burst, and mostly waits until it is read.
func (s *run) follow(ctx context.Context) error {
	begun := time.Now()
	if err := s.burst(1); err != nil {
		return err
	}
	if s.rng.IntN(4) == 0 {
		return nil
	}
	if err := s.caughtUp(ctx); err != nil {
		return err
	}
	s.pace = (3*s.pace + time.Since(begun)) / 4
	if n := len(s.watch.samples); n == 0 || s.m.tally.Lines-s.watch.samples[n-1].Lines > int64(3*s.o.Jobs/500) {
		s.watch.look(ctx, s.program, s.m.tally.Lines, s.day())
	}
	return nil
}

// caughtUp waits until the daemon has read everything that was written: the newest instant in its picture equals the
// newest one in the log. Readiness does not show this, because it remains once reached. Nor does the lag in bytes,
// which is not updated while the database fails.
func (s *run) caughtUp(ctx context.Context) error {
	return s.program.poll(ctx, "all is read", s.o.Patience, func() bool {
		return s.program.ready(ctx, s.logs.held > 0) && !s.program.asOf(ctx).Before(s.m.newest) && s.behind(ctx) == 0
	})
}

// behind returns the number of bytes of the log that the daemon has not read yet. A daemon that stands by until the
// lease of a killed one expires reads no log and saves no state. It counts as behind, although it may know everything
// that the killed daemon had written.
func (s *run) behind(ctx context.Context) float64 {
	lag, ok := total(s.program.metrics(ctx), "waitcast_tail_lag_bytes", "")
	if !ok {
		return 1
	}
	return lag
}

// start starts a daemon and waits until it serves.
func (s *run) start(ctx context.Context) error {
	p, err := spawn(ctx, s.o.Program, s.config, &s.said)
	if err != nil {
		return err
	}
	s.program = p
	s.count["starts"]++
	if err := p.serving(ctx, s.o.Patience); err != nil {
		return err
	}
	if _, replayed := p.told(); replayed > 0 {
		s.count["starts that replayed a part of the journal"]++
	}
	return nil
}

func (s *run) kill() error {
	err := s.program.kill()
	s.program = nil
	return err
}

func (s *run) killed(ctx context.Context) error {
	if err := s.kill(); err != nil {
		return err
	}
	return s.start(ctx)
}

// killedTwice also kills a daemon that is still starting.
func (s *run) killedTwice(ctx context.Context) error {
	if err := s.kill(); err != nil {
		return err
	}
	p, err := spawn(ctx, s.o.Program, s.config, &s.said)
	if err != nil {
		return err
	}
	wait(ctx, time.Duration(s.rng.Int64N(int64(400*time.Millisecond))))
	if err := p.kill(); err != nil {
		return err
	}
	return s.start(ctx)
}

// downForDays lets the log grow, and be rotated, while no daemon runs.
func (s *run) downForDays(ctx context.Context) error {
	if err := s.kill(); err != nil {
		return err
	}
	until := s.now + (1+9*s.rng.Float64())*daySeconds
	for s.now < until && !s.finished() {
		if err := s.burst(1); err != nil {
			return err
		}
	}
	return s.start(ctx)
}

func (s *run) stopped(ctx context.Context) error {
	err := s.program.stop(s.o.Patience)
	s.program = nil
	if err != nil {
		return err
	}
	return s.start(ctx)
}

// reloaded makes the daemon load a changed configuration.
func (s *run) reloaded(ctx context.Context) error {
	if err := s.configure(s.config, s.db, "data", time.Duration(5+s.rng.IntN(50))*time.Minute); err != nil {
		return err
	}
	return s.hangUp(ctx)
}

// misread makes the daemon refuse an invalid configuration.
func (s *run) misread(ctx context.Context) error {
	broken := &brokenDatabase{s.db}
	if err := s.configure(s.config, broken, "data", 5*time.Minute); err != nil {
		return err
	}
	return errors.Join(s.hangUp(ctx), s.configure(s.config, s.db, "data", 5*time.Minute))
}

// brokenDatabase is a database whose configuration has an invalid key.
type brokenDatabase struct{ database }

func (b *brokenDatabase) yaml() string { return b.database.yaml() + "  no_such_key: 1\n" }

func (s *run) hangUp(ctx context.Context) error {
	before, _ := s.program.told()
	if err := s.program.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	return s.program.poll(ctx, "the reload", s.o.Patience, func() bool {
		now, _ := s.program.told()
		return now > before
	})
}

// failed lets the database fail while the log grows, until the daemon reports it.
func (s *run) failed(ctx context.Context) error {
	if err := s.db.fail(); err != nil {
		return err
	}
	err := s.whileFailing(ctx)
	return errors.Join(err, s.db.heal())
}

// noticed is how long the daemon may take to report that its database fails.
const noticed = time.Minute

func (s *run) whileFailing(ctx context.Context) error {
	if err := s.burst(2); err != nil || s.finished() {
		return err
	}
	more := time.Now()
	return s.program.poll(ctx, "waitcast_store_failing", noticed, func() bool {
		if s.program.metrics(ctx)["waitcast_store_failing"] == 1 {
			return true
		}
		if time.Since(more) > time.Second { // an idle database cannot fail
			_ = s.burst(.2) // a later call returns the error again
			more = time.Now()
		}
		return s.finished()
	})
}

// failedAndKilled kills the daemon while its database fails. Daemons cannot start until the failure ends.
func (s *run) failedAndKilled(ctx context.Context) error {
	if err := s.db.fail(); err != nil {
		return err
	}
	err := errors.Join(s.burst(1), s.kill())
	if err == nil {
		err = s.refused(ctx)
	}
	if err := errors.Join(err, s.db.heal()); err != nil {
		return err
	}
	return s.start(ctx)
}

// readOnly starts a daemon on a database that cannot be written.
func (s *run) readOnly(ctx context.Context) error {
	if err := s.kill(); err != nil {
		return err
	}
	disk := s.db.(*smallFile).disk
	if err := disk.readOnly(); err != nil {
		return err
	}
	if err := errors.Join(s.refused(ctx), disk.room()); err != nil {
		return err
	}
	return s.start(ctx)
}

// deleted removes the file of the database under a running daemon, which must report that. Then it acts like an
// administrator without a backup: it stops and starts the daemon, which must report that the database is empty, and
// starts it once more. The daemon reads all logs again.
func (s *run) deleted(ctx context.Context) error {
	if err := os.Remove(s.db.(onFile).path()); err != nil {
		return err
	}
	if err := s.whileFailing(ctx); err != nil {
		return err
	}
	p := s.program
	s.program = nil
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.gone: // the end is not in order, because there is no file that the daemon could close
	case <-time.After(s.o.Patience):
		return errors.Join(errors.New("a daemon whose database was deleted does not end"), p.kill())
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.program.poll(ctx, "it says that the database was emptied", noticed, func() bool {
		return strings.Contains(s.program.body(ctx, "/readyz"), "store_emptied")
	}); err != nil {
		return err
	}
	return s.stopped(ctx)
}

// refused starts a daemon that cannot use its database. It may end or wait for the database; it is killed after a
// while.
func (s *run) refused(ctx context.Context) error {
	p, err := spawn(ctx, s.o.Program, s.config, &s.said)
	if err != nil {
		return err
	}
	select {
	case <-p.gone:
		s.count["starts refused for want of the database"]++
		return nil
	case <-ctx.Done():
	case <-time.After(time.Second + time.Duration(s.rng.Int64N(int64(2*time.Second)))):
	}
	s.count["starts without the database, killed"]++
	return p.kill()
}

// finish lets the daemon read the log to its end and stops it.
func (s *run) finish(ctx context.Context, r *Report) error {
	if err := s.flush(len(s.pending)); err != nil {
		return err
	}
	if err := errors.Join(s.logs.end(), s.caughtUp(ctx)); err != nil {
		return err
	}
	s.watch.look(ctx, s.program, s.m.tally.Lines, s.day())
	var err error
	if r.levels, err = accuracy(ctx, s.program, s.o.Days); err != nil {
		return err
	}
	err = s.program.stop(s.o.Patience)
	s.program = nil
	return err
}
