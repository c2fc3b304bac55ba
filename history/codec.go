package history

import (
	"errors"
	"time"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// errSpill means that the content of a temporary file is not what was written.
var errSpill = errors.New("the temporary file of sorted events is damaged")

// appendEvent appends the encoding of an event to b. The encoding has the event's place in the logs and its content.
func appendEvent(b []byte, ev *Event) []byte {
	w := codec.Writer(b)
	w.Flag(ev.inferred)
	w.Uint(ev.order)
	w.Signed(int64(ev.File))
	w.Signed(ev.Line)
	return appendContent(w, ev)
}

// appendContent appends the encoding of an event's content, without its place. It writes the numbers as varints, and
// then each text after its length. Events with equal content have equal bytes; Digest depends on that.
func appendContent(b []byte, ev *Event) []byte {
	w := codec.Writer(b)
	for _, n := range numbersOf(ev) {
		w.Signed(n)
	}
	for _, s := range textsOf(ev) {
		w.Text(*s)
	}
	return w
}

// These are the indexes of an event's numbers. An instant has two numbers: seconds and nanoseconds. The seconds of Time
// are counted from 1970. The seconds of the other instants are counted from Time. The flags show which instants are
// known.
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
	texts    = 10
)

// These are the flags of an event. The bits from flagInstants on belong to the instants.
const (
	flagAll = 1 << iota
	flagWhole
	flagInstants
	flagRan = flagInstants << instants
)

// instantsOf returns pointers to the instants of an event. The first is Time.
func instantsOf(ev *Event) [instants]*time.Time {
	return [...]*time.Time{&ev.Time, &ev.Times.Submit, &ev.Times.Eligible, &ev.Times.Start, &ev.Times.End}
}

// textsOf returns pointers to the texts of an event.
func textsOf(ev *Event) [texts]*string {
	return [...]*string{&ev.Cluster, &ev.ID, &ev.Queue, &ev.User, &ev.Account, &ev.QOS, &ev.Name, &ev.GPUType,
		&ev.Reason, &ev.Group}
}

// numbersOf returns an event's numbers, instants and flags as one array.
func numbersOf(ev *Event) (n [numbers]int64) {
	flags := 0
	if ev.All {
		flags |= flagAll
	}
	if ev.Whole {
		flags |= flagWhole
	}
	if ev.Ran {
		flags |= flagRan
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

// setNumbers sets the fields of an event from the array of numbersOf.
func setNumbers(ev *Event, n *[numbers]int64) {
	flags := n[numFlags]
	ev.Kind = job.Kind(n[numKind]) //nolint:gosec // as it was written
	ev.All, ev.Whole, ev.Ran = flags&flagAll != 0, flags&flagWhole != 0, flags&flagRan != 0
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

// decoder decodes the bytes of appendEvent. After an error its methods return zeros.
type decoder struct {
	codec.Reader
	names  map[string]string // texts that were decoded before, which are shared because there are few queues and users
	reason error             // the error that is returned if the bytes cannot be decoded
}

// maxNames is the maximum number of texts that a decoder shares between events.
const maxNames = 1 << 14

func newDecoder(reason error) *decoder { return &decoder{names: map[string]string{}, reason: reason} }

// event decodes one event. b must have no other bytes.
func (d *decoder) event(b []byte) (ev Event, err error) {
	d.Reader = codec.Reader{Rest: b}
	ev.inferred = d.Flag()
	ev.order, ev.File, ev.Line = d.Uint(), int(d.Signed()), d.Signed()
	var n [numbers]int64
	for i := range n {
		n[i] = d.Signed()
	}
	setNumbers(&ev, &n)
	for _, to := range textsOf(&ev) {
		*to = d.text()
	}
	return ev, d.end()
}

// end returns an error if bytes could not be decoded or if bytes remain.
func (d *decoder) end() error {
	if d.Bad || len(d.Rest) > 0 {
		return d.reason
	}
	return nil
}

func (d *decoder) text() string {
	text := d.Bytes()
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
