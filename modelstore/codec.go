package modelstore

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/job"
)

// eventVersion is the version of payload. Increase it for a change that an older program would misread.
const eventVersion = 1

// payload has the fields of an event that the journal stores as JSON, besides the key and the time. Member names are
// short, unknown fields are left out, and the order is fixed. Instants are nanoseconds since 1970 in UTC.
type payload struct {
	Version   int        `json:"v"`
	Queue     string     `json:"q,omitempty"`
	User      string     `json:"u,omitempty"`
	Account   string     `json:"a,omitempty"`
	QOS       string     `json:"o,omitempty"`
	Name      string     `json:"n,omitempty"`
	Procs     int        `json:"p,omitempty"`
	Nodes     int        `json:"d,omitempty"`
	NodeNames string     `json:"dn,omitempty"`
	TimeLimit int64      `json:"l,omitempty"`
	Submit    *int64     `json:"ts,omitempty"`
	Eligible  *int64     `json:"te,omitempty"`
	Start     *int64     `json:"tb,omitempty"`
	End       *int64     `json:"tf,omitempty"`
	Memory    int64      `json:"m,omitempty"`
	GPUs      int        `json:"g,omitempty"`
	GPUType   string     `json:"gt,omitempty"`
	Whole     bool       `json:"w,omitempty"`
	Tasks     int        `json:"k,omitempty"`
	Priority  int64      `json:"i,omitempty"`
	Reason    string     `json:"h,omitempty"`
	Group     string     `json:"z,omitempty"`
	After     string     `json:"e,omitempty"`
	Throttle  int        `json:"c,omitempty"`
	Nice      int64      `json:"ni,omitempty"`
	Settled   string     `json:"hs,omitempty"`
	Queues    string     `json:"qs,omitempty"`
	Planned   *int64     `json:"tp,omitempty"`
	Facts     *job.Facts `json:"f,omitempty"`
	Live      bool       `json:"x,omitempty"`
	Derived   bool       `json:"y,omitempty"`
	// Raw replaces all texts of a log (texts) in entries of versions before 0.2 with a text that is not UTF-8.
	Raw [][]byte `json:"r,omitempty"`
}

// texts returns pointers to the payload's texts that come from a log. Their order is that of Raw.
func (p *payload) texts() []*string {
	return []*string{&p.Queue, &p.User, &p.Account, &p.QOS, &p.Name, &p.GPUType, &p.Reason, &p.Settled, &p.Group,
		&p.NodeNames, &p.After}
}

// EncodeEvent returns the payload of the event. The payload has everything except the columns Kind, Cluster, ID,
// Attempt and Time, and except All and Total, which no stored event has. Equal events give equal bytes.
func EncodeEvent(ev *job.Event) ([]byte, error) {
	p := payload{
		Version: eventVersion, Queue: ev.Queue, User: ev.User, Account: ev.Account, QOS: ev.QOS, Name: ev.Name,
		Procs: ev.Procs, Nodes: ev.Nodes, Memory: ev.Memory, GPUs: ev.GPUs, GPUType: ev.GPUType, Whole: ev.Whole,
		NodeNames: ev.NodeNames, TimeLimit: int64(ev.TimeLimit), Tasks: ev.Tasks, Priority: ev.Priority,
		Reason: ev.Reason, Group: ev.Group, After: ev.After, Throttle: ev.Throttle, Settled: ev.Settled,
		Nice: ev.Nice, Queues: ev.Queues, Planned: nanos(ev.Planned),
		Facts: ev.Facts, Live: ev.Live, Derived: ev.Derived,
		Submit: nanos(ev.Times.Submit), Eligible: nanos(ev.Times.Eligible), Start: nanos(ev.Times.Start),
		End: nanos(ev.Times.End),
	}
	return json.Marshal(&p)
}

// DecodeEvent sets the fields of ev from its payload. The fields that are stored as columns must be set already. An
// error means that the payload is damaged (ErrCorrupt) or that a newer version wrote it.
func DecodeEvent(data []byte, ev *job.Event) error {
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("event payload: %w: %w", ErrCorrupt, err)
	}
	if p.Version != eventVersion {
		return fmt.Errorf("event payload has version %d, but this program knows only %d: run the newer program",
			p.Version, eventVersion)
	}
	if p.Raw != nil {
		texts := p.texts()
		if len(p.Raw) > len(texts) || len(p.Raw) < 5 { // older versions wrote only the first five
			return fmt.Errorf("event payload: %w: %d raw texts instead of %d", ErrCorrupt, len(p.Raw), len(texts))
		}
		for i := range p.Raw {
			*texts[i] = string(p.Raw[i])
		}
	}
	ev.Attributes = job.Attributes{
		Queue: p.Queue, User: p.User, Account: p.Account, QOS: p.QOS, Name: p.Name,
		Procs: p.Procs, Nodes: p.Nodes, Memory: p.Memory, GPUs: p.GPUs, GPUType: p.GPUType, Whole: p.Whole,
		NodeNames: p.NodeNames, TimeLimit: time.Duration(p.TimeLimit), Tasks: p.Tasks, Priority: p.Priority,
		Reason: p.Reason, Group: p.Group, After: p.After, Throttle: p.Throttle, Settled: p.Settled,
		Nice: p.Nice, Queues: p.Queues, Planned: instant(p.Planned),
	}
	ev.Facts = p.Facts
	ev.Times = job.Times{Submit: instant(p.Submit), Eligible: instant(p.Eligible), Start: instant(p.Start),
		End: instant(p.End)}
	ev.Live, ev.Derived = p.Live, p.Derived
	ev.EachText(job.Stored)
	return nil
}

// DecodeRow applies job.Stored to the texts of a row that was read from a store.
func DecodeRow(r *Row) {
	r.JobID, r.Queue = job.Stored(r.JobID), job.Stored(r.Queue)
	if r.Parts != nil {
		r.Parts.Settled = job.Stored(r.Parts.Settled)
	}
}

// ParseKind returns the kind with a name that job.Kind.String returns. For another name the error wraps ErrCorrupt.
func ParseKind(name string) (job.Kind, error) {
	for k := job.Submit; k <= job.Machine; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("event kind %q is unknown: %w", name, ErrCorrupt)
}

func nanos(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixNano()
	return &n
}

func instant(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return time.Unix(0, *n).UTC()
}
