package history

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/waitcast/waitcast/job"
)

// errSpill is the error of a temporary file that does not hold what was written to it.
var errSpill = errors.New("the temporary file of sorted events is damaged")

// appendEvent adds the encoding of an event to b: numbers are varints, and a text follows its length. An
// instant is its seconds since 1970 and its nanoseconds, behind a byte that says whether it is known.
func appendEvent(b []byte, ev *Event) []byte {
	b = append(b, byte(ev.Kind), flagsOf(ev))
	whole := int64(0)
	if ev.Whole {
		whole = 1
	}
	for _, n := range [...]int64{
		whole, int64(ev.order), int64(ev.File), ev.Line, int64(ev.Procs), int64(ev.Nodes), ev.Memory, int64(ev.GPUs),
		int64(ev.TimeLimit), int64(ev.Tasks), ev.Priority, int64(ev.Attempt),
	} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [...]string{ev.Cluster, ev.ID, ev.Queue, ev.User, ev.Account, ev.QOS, ev.Name, ev.GPUType,
		ev.Reason} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	for _, t := range [...]time.Time{ev.Time, ev.Times.Submit, ev.Times.Eligible, ev.Times.Start, ev.Times.End} {
		if t.IsZero() {
			b = append(b, 0)
			continue
		}
		b = binary.AppendVarint(append(b, 1), t.Unix())
		b = binary.AppendUvarint(b, uint64(t.Nanosecond())) //nolint:gosec // from 0 to 999,999,999
	}
	return b
}

const (
	flagAll = 1 << iota
	flagInferred
)

func flagsOf(ev *Event) (flags byte) {
	if ev.All {
		flags |= flagAll
	}
	if ev.inferred {
		flags |= flagInferred
	}
	return flags
}

// decoder reads what appendEvent wrote.
type decoder struct {
	b     []byte
	names map[string]string // texts that were met before: queues and users are few
	err   error
}

// maxNames bounds the texts that are shared between events.
const maxNames = 1 << 14

func (d *decoder) event(b []byte) (ev Event, err error) {
	d.b, d.err = b, nil
	ev.Kind = job.Kind(d.byte())
	flags := d.byte()
	ev.All, ev.inferred = flags&flagAll != 0, flags&flagInferred != 0
	ev.Whole = d.number() != 0
	ev.order, ev.File, ev.Line = uint64(d.number()), int(d.number()), d.number() //nolint:gosec // as it was written
	ev.Procs, ev.Nodes, ev.Memory, ev.GPUs = int(d.number()), int(d.number()), d.number(), int(d.number())
	ev.TimeLimit, ev.Tasks, ev.Priority = time.Duration(d.number()), int(d.number()), d.number()
	ev.Attempt = int(d.number())
	for _, to := range [...]*string{&ev.Cluster, &ev.ID, &ev.Queue, &ev.User, &ev.Account, &ev.QOS, &ev.Name,
		&ev.GPUType, &ev.Reason} {
		*to = d.text()
	}
	for _, to := range [...]*time.Time{&ev.Time, &ev.Times.Submit, &ev.Times.Eligible, &ev.Times.Start,
		&ev.Times.End} {
		if d.byte() == 0 {
			continue
		}
		seconds, nanoseconds := d.number(), d.length()
		*to = time.Unix(seconds, nanoseconds).UTC()
	}
	if len(d.b) > 0 {
		d.err = errSpill
	}
	return ev, d.err
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.err = errSpill
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) number() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.b, d.err = nil, errSpill
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) length() int64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > 1<<40 {
		d.b, d.err = nil, errSpill
		return 0
	}
	d.b = d.b[size:]
	return int64(n)
}

func (d *decoder) text() string {
	n := d.length()
	if n > int64(len(d.b)) {
		d.b, d.err = nil, errSpill
		return ""
	}
	text := d.b[:n]
	d.b = d.b[n:]
	if s, ok := d.names[string(text)]; ok {
		return s
	}
	if d.names == nil || len(d.names) >= maxNames {
		d.names = map[string]string{}
	}
	s := string(text)
	d.names[s] = s
	return s
}
