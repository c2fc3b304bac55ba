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

// disturbance is one kind of action that disturbs the daemon while it reads. weight is proportional to its probability.
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

// disturb writes the log while a daemon follows it and is disturbed. Finally it lets the daemon read the log to its
// end.
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
	queue := s.rng.Perm(len(all)) // each disturbance once, then at random
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

// tell writes a line about the progress to Options.Out.
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

// wait waits for a duration or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// follow writes a burst of lines. Three times out of four it also waits until the daemon has read them, and then takes
// a sample if the last one is many lines ago.
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

// caughtUp waits until the daemon has read everything that was written. That is the case if its picture is at the
// newest instant in the log. Readiness alone does not show it, because a daemon stays ready. Nor does the lag in bytes,
// which is not updated while the database fails.
func (s *run) caughtUp(ctx context.Context) error {
	return s.program.poll(ctx, "all is read", s.o.Patience, func() bool {
		return s.program.ready(ctx, s.logs.held > 0) && !s.program.asOf(ctx).Before(s.m.newest) && s.behind(ctx) == 0
	})
}

// behind returns the number of bytes of the log that the daemon has not read yet. For a daemon that stands by until the
// lease of a killed daemon expires it returns 1: such a daemon reads no log and saves no state, although it may have
// all events that the killed daemon stored.
func (s *run) behind(ctx context.Context) float64 {
	lag, ok := total(s.program.metrics(ctx), "waitcast_tail_lag_bytes", "")
	if !ok {
		return 1
	}
	return lag
}

// start starts a daemon with the configuration of the soak, and waits until it serves.
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

// killedTwice kills the daemon, and then the next one while it is still starting.
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

// downForDays kills the daemon and lets the log grow for 1 to 10 simulated days before the next one starts.
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

// reloaded makes the daemon reload a configuration with another value of stale_after.
func (s *run) reloaded(ctx context.Context) error {
	if err := s.configure(s.config, s.db, "data", time.Duration(5+s.rng.IntN(50))*time.Minute); err != nil {
		return err
	}
	return s.hangUp(ctx)
}

// misread makes the daemon reload an invalid configuration, which it refuses. Then the file gets a valid configuration
// again.
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

// failed lets the database fail, and the log grow, until the daemon reports the failure or the log has ended.
func (s *run) failed(ctx context.Context) error {
	if err := s.db.fail(); err != nil {
		return err
	}
	err := s.whileFailing(ctx)
	return errors.Join(err, s.db.heal())
}

// noticed is the maximum time that the daemon may take to report that its database fails.
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
		if time.Since(more) > time.Second { // write more, because an idle database cannot fail
			_ = s.burst(.2) // an error occurs again in a later call
			more = time.Now()
		}
		return s.finished()
	})
}

// failedAndKilled kills the daemon while its database fails. It then tries to start a daemon, and starts one after the
// failure.
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

// readOnly kills the daemon and tries to start one on a database that cannot be written. Then it starts one on the
// writable database.
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

// deleted removes the file of the database of a running daemon, which must report that. Then deleted acts like an
// administrator without a backup: it stops the daemon and starts another one, which must report that the database is
// empty and reads all logs again. Finally it stops that one too and starts the next.
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
	case <-p.gone: // do not check how it ended: without its file the daemon cannot end in order
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

// refused starts a daemon that cannot use its database. The daemon may end or wait for the database; if it waits, it is
// killed after 1 to 3 s.
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

// finish lets the daemon read the log to its end, reads its accuracy, and stops it.
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
