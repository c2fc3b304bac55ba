// Package journal follows a log in systemd's journal. It runs journalctl and returns the messages of the entries as
// lines. The checkpoint is the cursor of the last entry.
//
// First, one call of journalctl reads the journal to its end, so that the end is noticed. Then "journalctl --follow"
// runs. If journalctl ends or fails, both steps are repeated. If there is a checkpoint, a call starts at the entry of
// the checkpoint itself (--cursor), which is then skipped. If another entry comes first, the journal no longer has the
// entry of the checkpoint, and entries after it may be lost too. With --after-cursor instead, journalctl 252 would in
// that case also skip the first remaining entry, and the loss would not be noticed.
//
// Sources: journalctl(1), systemd.journal-fields(7), journald.conf(5), and the page "Journal Export Formats" of
// systemd, section "Journal JSON Format".
package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector/tail"
)

// Config defines the log to follow.
type Config struct {
	// Source is the name of the source in metrics and errors.
	Source string
	// Matches choose the entries, as arguments of journalctl: FIELD=value, and "+" between groups. Several values of
	// one field are alternatives.
	Matches []string
	// Path is a file or a folder of journals. If it is empty, the journal of this host is read.
	Path string
	// FromEnd starts after the newest entry instead of at the oldest, if there is no checkpoint.
	FromEnd bool
	// OneShot makes Next return io.EOF after the last entry.
	OneShot bool
	// Poll is the interval at which Next calls Options.Idle while there are no new entries. It is also the pause before
	// journalctl is started again after it has failed, or after --follow has ended. The default is tail.DefaultPoll.
	Poll time.Duration
	// BatchLines is the maximum number of lines in a batch. The default is tail.DefaultBatchLines.
	BatchLines int
	// Command is the command to run; the default is journalctl.
	Command []string
}

// Follower reads one log. It is not safe for concurrent use.
type Follower struct {
	cfg  Config
	opts tail.Options

	position
	child    *child // nil if journalctl does not run
	complete bool   // the last journalctl has read to the end; the next gets --follow
	expect   bool   // the next entry must be that of the checkpoint, unless that entry was deleted
	lines    int64
	problems []tail.Problem
	standing []tail.Problem // problems that keep the journal from being read
	paused   time.Time      // journalctl is not started before this time
}

// position is a checkpoint.
type position struct {
	// Version is the version of the encoding.
	Version int `json:"journal"`
	// Cursor is the cursor of the last entry that was read. Time is that entry's time in microseconds since 1970.
	Cursor string `json:"cursor"`
	Time   int64  `json:"time"`
}

// version is the current version of checkpoints.
const version = 1

// New returns a Follower that continues after a checkpoint. If the checkpoint is empty, cannot be decoded or has no
// cursor, Config.FromEnd defines where the Follower starts. Without Matches New returns an error.
func New(cfg Config, checkpoint []byte, opts tail.Options) (*Follower, error) {
	if len(cfg.Matches) == 0 {
		return nil, fmt.Errorf("journal: source %q: no match: name the entries, such as SYSLOG_IDENTIFIER=slurmctld",
			cfg.Source)
	}
	if cfg.Poll <= 0 {
		cfg.Poll = tail.DefaultPoll
	}
	if cfg.BatchLines <= 0 {
		cfg.BatchLines = tail.DefaultBatchLines
	}
	if len(cfg.Command) == 0 {
		cfg.Command = []string{"journalctl"}
	}
	f := &Follower{cfg: cfg, opts: opts, position: position{Version: version}}
	var saved position
	if len(checkpoint) > 0 && json.Unmarshal(checkpoint, &saved) == nil && saved.Version == version {
		f.position = saved // a checkpoint without a cursor was made for a log file; its counts are kept
	}
	opts.Metrics.Touch(cfg.Source)
	return f, nil
}

// Close ends journalctl.
func (f *Follower) Close() error {
	if f.child != nil {
		f.child.kill()
		f.child = nil
	}
	return nil
}

// Next returns a batch when there are entries, when the end of the journal is reached for the first time, or when there
// is a new problem. The batch is valid until the next call. Next returns io.EOF after the end of a one-shot run, and
// the error of ctx when ctx is done.
func (f *Follower) Next(ctx context.Context) (tail.Batch, error) {
	ticker := time.NewTicker(f.cfg.Poll)
	defer ticker.Stop()
	for {
		if f.child == nil && !time.Now().Before(f.paused) {
			if err := f.start(ctx); err != nil {
				if b, ok := f.failed(err); ok {
					return b, nil
				}
			}
		}
		var lines <-chan outputLine
		if f.child != nil {
			lines = f.child.lines
		}
		select {
		case <-ctx.Done():
			return tail.Batch{}, ctx.Err()
		case line, ok := <-lines:
			if !ok {
				b, done, err := f.ended()
				if done || err != nil {
					return b, err
				}
				continue
			}
			return f.gather(line), nil
		case <-ticker.C:
			if f.complete && f.child != nil && f.opts.Idle != nil {
				f.opts.Idle()
			}
		}
	}
}

// start starts journalctl, which follows the journal if complete is set, and stops at the end of the journal otherwise.
// Without a checkpoint, FromEnd makes it begin after the newest entry.
func (f *Follower) start(ctx context.Context) error {
	if f.Cursor == "" && f.cfg.FromEnd {
		if err := f.skipToEnd(ctx); err != nil {
			return err
		}
	}
	args := f.arguments()
	if f.complete {
		args = append(args, "--follow", "--no-tail")
	}
	if f.Cursor != "" {
		args = append(args, "--cursor="+f.Cursor)
	}
	c, err := startChild(slices.Concat(args, f.cfg.Matches, []string{"+", "MESSAGE_ID=" + droppedID}))
	f.child, f.expect = c, f.Cursor != ""
	return err
}

// arguments returns the arguments common to all calls.
func (f *Follower) arguments() []string {
	args := append(slices.Clone(f.cfg.Command), "--quiet", "--no-pager", "--all", "--output=json",
		"--output-fields=MESSAGE,MESSAGE_ID,N_DROPPED,_SOURCE_REALTIME_TIMESTAMP")
	switch info, err := os.Stat(f.cfg.Path); {
	case f.cfg.Path == "":
	case err == nil && info.IsDir():
		args = append(args, "--directory="+f.cfg.Path)
	default:
		args = append(args, "--file="+f.cfg.Path)
	}
	return args
}

// skipToEnd sets the position to the newest matching entry. If there is none, the position stays empty.
func (f *Follower) skipToEnd(ctx context.Context) error {
	c, err := startChild(slices.Concat(f.arguments(), []string{"--lines=1"}, f.cfg.Matches))
	if err != nil {
		return err
	}
	defer c.kill()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line, ok := <-c.lines:
		if !ok {
			return c.wait()
		}
		var e entry
		if json.Unmarshal(line.text, &e) == nil {
			f.Cursor, f.Time = e.Cursor, e.received()
		}
		return nil
	}
}

// gather returns a batch of a line and those that are available after it, at most BatchLines in all.
func (f *Follower) gather(line outputLine) tail.Batch {
	b := tail.Batch{CaughtUp: f.complete}
	bytesRead := int64(0)
	for more := true; more; {
		bytesRead += int64(len(line.text))
		if text := f.take(line); text != nil {
			f.lines++
			b.Lines = append(b.Lines, tail.Line{Path: f.where(), Number: f.lines, Text: text})
		}
		if len(b.Lines) >= f.cfg.BatchLines {
			b.CaughtUp = false
			break
		}
		select {
		case line, more = <-f.child.lines: // the next call notices the end of the output
		default:
			more = false
		}
	}
	f.opts.Metrics.Read(f.cfg.Source, len(b.Lines), bytesRead)
	f.standing = nil
	return f.with(b)
}

// with adds the pending problems and the checkpoint to a batch.
func (f *Follower) with(b tail.Batch) tail.Batch {
	b.Problems, f.problems = f.problems, nil
	b.Standing = f.standing
	if f.Cursor != "" {
		if text, err := json.Marshal(f.position); err == nil {
			b.Checkpoint = text
		}
	}
	return b
}

// ended handles the end of journalctl. done is true if b is a batch for the caller. err is io.EOF when a one-shot run
// is complete.
func (f *Follower) ended() (b tail.Batch, done bool, err error) {
	err = f.child.wait()
	f.child = nil
	if err != nil {
		b, done = f.failed(err)
		return b, done, nil
	}
	f.standing = nil
	if f.complete { // --follow has ended: first read the entries that were written meanwhile
		f.complete, f.paused = false, time.Now().Add(f.cfg.Poll)
		return b, false, nil
	}
	if f.expect { // there is no entry, not even that of the checkpoint
		f.lost("nothing is left")
		f.expect, f.position = false, position{Version: version}
	}
	f.complete = true
	if f.cfg.OneShot {
		if len(f.problems) == 0 {
			return b, false, io.EOF
		}
		f.complete = false
	}
	return f.with(tail.Batch{CaughtUp: true}), true, nil
}

// failed records that journalctl could not be started or has failed. It returns a batch if the failure is new.
func (f *Follower) failed(err error) (tail.Batch, bool) {
	f.complete, f.paused = false, time.Now().Add(f.cfg.Poll)
	p := tail.Problem{Path: f.where(), Reason: tail.Unreadable, Err: err}
	if len(f.standing) == 1 && f.standing[0].Err.Error() == err.Error() {
		return tail.Batch{}, false
	}
	f.standing = []tail.Problem{p}
	f.say(p)
	return f.with(tail.Batch{}), true
}

// say adds a problem to the next batch, and counts the problem.
func (f *Follower) say(p tail.Problem) {
	f.opts.Metrics.Count(f.cfg.Source, p.Reason)
	f.problems = append(f.problems, p)
}

// lost reports that the journal no longer has the entry of the checkpoint. The parameter then is the part of the
// message that describes how the journal goes on.
func (f *Follower) lost(then string) {
	f.say(tail.Problem{Path: f.where(), Reason: tail.CheckpointLost, Err: fmt.Errorf(
		"the journal no longer has the entry of %s at which reading stopped: what was written after it and deleted is "+
			"lost, %s; let journald keep more (SystemMaxUse in journald.conf), or stop the daemon for less time",
		time.UnixMicro(f.Time).UTC().Format(time.RFC3339), then)})
}

// where returns the name of the journal for messages.
func (f *Follower) where() string {
	if f.cfg.Path == "" {
		return "journal"
	}
	return f.cfg.Path
}

// take parses one line of journalctl. It returns the message of the entry as a line of a log, and moves the position to
// this entry. It returns nil for the entry of the checkpoint, and for a message about dropped messages. If the line is
// no entry it is returned as it is, or, if it was cut at maxLine, reported.
func (f *Follower) take(line outputLine) []byte {
	var e entry
	if err := json.Unmarshal(line.text, &e); err != nil || e.Cursor == "" {
		if line.cut {
			f.say(tail.Problem{Path: f.where(), Reason: tail.LineTooLong, Text: bytes.Clone(line.text[:80]),
				Err: fmt.Errorf("an entry of more than %d bytes was left out", maxLine)})
			return nil
		}
		return line.text // the parser refuses and counts the line
	}
	if f.expect {
		f.expect = false
		if e.Cursor == f.Cursor {
			return nil
		}
		f.lost("the next is of " + time.UnixMicro(e.received()).UTC().Format(time.RFC3339))
	}
	f.Cursor, f.Time = e.Cursor, e.received()
	if e.ID == droppedID {
		f.dropped(&e)
		return nil
	}
	return e.line()
}

// dropped counts and reports the messages of this log that journald dropped.
func (f *Follower) dropped(e *entry) {
	n, ours := e.drops(f.cfg.Matches)
	if !ours {
		return
	}
	f.opts.Metrics.Dropped(f.cfg.Source, n)
	f.say(tail.Problem{Path: f.where(), Reason: tail.Suppressed, Err: errors.New(string(e.Message) +
		": journald dropped them, and the jobs in them are known from the scheduler's answers only; set " +
		"LogRateLimitIntervalSec=0 for slurmctld's unit")})
}
