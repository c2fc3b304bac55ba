package history

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/waitcast/waitcast/job"
)

// errSpill is the error of a temporary file that does not hold what was written to it.
var errSpill = errors.New("the temporary file of sorted events is damaged")

// appendEvent adds the encoding of an event to b: where it stands in the logs, and its content.
func appendEvent(b []byte, ev *Event) []byte {
	inferred := byte(0)
	if ev.inferred {
		inferred = 1
	}
	b = append(b, inferred)
	b = binary.AppendUvarint(b, ev.order)
	b = binary.AppendVarint(b, int64(ev.File))
	b = binary.AppendVarint(b, ev.Line)
	return appendContent(b, ev)
}

// appendContent adds the encoding of what an event says, wherever it stands: its numbers as varints, then its texts,
// each behind its length. Events that say the same have the same bytes; Digest depends on them.
func appendContent(b []byte, ev *Event) []byte {
	for _, n := range numbersOf(ev) {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range textsOf(ev) {
		b = append(binary.AppendUvarint(b, uint64(len(*s))), *s...)
	}
	return b
}

// The numbers of an event. Those of an instant are its seconds and its nanoseconds; the seconds of Time are since 1970,
// those of the others since Time. The bits of its flags say which instants are known.
const (
	numKind = iota
	numFlags
	numProcs
	numNodes
	numMemory
	numGPUs
	numTimeLimit
	numTasks
	numPriority
	numAttempt
	numInstants
	numbers = numInstants + 2*instants

	instants = 5
	texts    = 9
)

// Flags of an event. Those above them belong to the instants.
const (
	flagAll = 1 << iota
	flagWhole
	flagInstants
)

// instantsOf returns the instants of an event, its own time first.
func instantsOf(ev *Event) [instants]*time.Time {
	return [...]*time.Time{&ev.Time, &ev.Times.Submit, &ev.Times.Eligible, &ev.Times.Start, &ev.Times.End}
}

// textsOf returns the texts of an event.
func textsOf(ev *Event) [texts]*string {
	return [...]*string{&ev.Cluster, &ev.ID, &ev.Queue, &ev.User, &ev.Account, &ev.QOS, &ev.Name, &ev.GPUType,
		&ev.Reason}
}

// numbersOf returns the numbers of an event.
func numbersOf(ev *Event) (n [numbers]int64) {
	flags := 0
	if ev.All {
		flags |= flagAll
	}
	if ev.Whole {
		flags |= flagWhole
	}
	own := int64(0)
	for i, t := range instantsOf(ev) {
		if t.IsZero() {
			continue
		}
		flags |= flagInstants << i
		at := n[numInstants+2*i : numInstants+2*i+2]
		at[0], at[1] = t.Unix()-own, int64(t.Nanosecond())
		if i == 0 {
			own = t.Unix()
		}
	}
	n[numKind], n[numFlags] = int64(ev.Kind), int64(flags)
	n[numProcs], n[numNodes], n[numMemory], n[numGPUs] = int64(ev.Procs), int64(ev.Nodes), ev.Memory, int64(ev.GPUs)
	n[numTimeLimit], n[numTasks], n[numPriority] = int64(ev.TimeLimit), int64(ev.Tasks), ev.Priority
	n[numAttempt] = int64(ev.Attempt)
	return n
}

// setNumbers sets what numbersOf returned.
func setNumbers(ev *Event, n *[numbers]int64) {
	flags := n[numFlags]
	ev.Kind = job.Kind(n[numKind]) //nolint:gosec // as it was written
	ev.All, ev.Whole = flags&flagAll != 0, flags&flagWhole != 0
	ev.Procs, ev.Nodes, ev.Memory, ev.GPUs = int(n[numProcs]), int(n[numNodes]), n[numMemory], int(n[numGPUs])
	ev.TimeLimit, ev.Tasks, ev.Priority = time.Duration(n[numTimeLimit]), int(n[numTasks]), n[numPriority]
	ev.Attempt = int(n[numAttempt])
	own := int64(0)
	for i, t := range instantsOf(ev) {
		if flags&(flagInstants<<i) == 0 {
			continue
		}
		at := n[numInstants+2*i : numInstants+2*i+2]
		*t = time.Unix(own+at[0], at[1]).UTC()
		if i == 0 {
			own = at[0]
		}
	}
}

// decoder reads what appendEvent wrote. After an error it returns zeros.
type decoder struct {
	b     []byte
	names map[string]string // texts that were met before: queues and users are few
	err   error
	bad   error // the error of bytes that cannot be read
}

// maxNames bounds the texts that are shared between events.
const maxNames = 1 << 14

func newDecoder(bad error) *decoder { return &decoder{names: map[string]string{}, bad: bad} }

// event reads one event, which takes all of b.
func (d *decoder) event(b []byte) (ev Event, err error) {
	d.b, d.err = b, nil
	ev.inferred = d.byte() != 0
	ev.order, ev.File, ev.Line = d.length(), int(d.number()), d.number()
	var n [numbers]int64
	for i := range n {
		n[i] = d.number()
	}
	setNumbers(&ev, &n)
	for _, to := range textsOf(&ev) {
		*to = d.text()
	}
	if len(d.b) > 0 {
		d.fail()
	}
	return ev, d.err
}

func (d *decoder) fail() { d.b, d.err = nil, d.bad }

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) number() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) length() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) text() string {
	n := d.length()
	if n > uint64(len(d.b)) {
		d.fail()
		return ""
	}
	text := d.b[:n]
	d.b = d.b[n:]
	if s, ok := d.names[string(text)]; ok {
		return s
	}
	if len(d.names) >= maxNames {
		clear(d.names)
	}
	s := string(text)
	d.names[s] = s
	return s
}
