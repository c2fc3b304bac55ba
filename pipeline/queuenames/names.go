// Package queuenames maps the queues of a cluster to the queues under which their jobs are counted. A cluster may have
// any number of queue names, for example one for each reservation, but the number of models, metrics and figures must
// stay bounded.
package queuenames

import (
	"maps"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
)

// Other is the name of the queue under which the jobs of all queues beyond the limit are counted.
const Other = "other"

// detailedQueues is the maximum number of queues that have all metrics. A queue has about 370 series, and 64 queues
// give 2 MB of text. The detailed metrics of all further queues are added up under Other.
const detailedQueues = 64

// Names assigns to every queue name of a cluster the queue under which its jobs are counted. The first names in the
// journal are counted separately, up to a limit. All later names share the queue Other. The assignment of a name never
// changes. Only names that reach the journal count, so that a replay of the journal gives the same assignment. Names is
// not safe for concurrent use; readers use a View.
type Names struct {
	limit    int             // 0 means no limit
	reserved map[string]bool // configured names: counted separately even before their first job
	own      map[string]bool // the first names, in addition to the reserved ones
	order    []string        // the keys of own, in the order of the journal
	// detailed has the names of the queues with all metrics, at most detailedQueues; nil means every queue. Views share
	// the map, so it is copied when it grows.
	detailed map[string]bool
	sharing  hashes // hashes of the names that share Other
	met      uint64 // number of names added to sharing
}

// New returns the Names of a cluster before its first event. Reserved names are always counted separately, other names
// only as long as there are fewer names than the limit. A limit of 0 means no limit.
func New(reserved []string, limit int) *Names {
	n := &Names{limit: limit, reserved: map[string]bool{}, own: map[string]bool{}}
	if limit > 0 {
		n.detailed = map[string]bool{cluster.DefaultQueue: true, Other: true}
	}
	for _, q := range reserved {
		n.reserved[q] = true
		n.detail(q)
	}
	return n
}

// Limit returns the maximum number of names that are counted separately, 0 if there is no limit.
func (n *Names) Limit() int { return n.limit }

// has reports whether it is settled that a name is counted separately.
func (n *Names) has(name string) bool {
	return name == "" || name == cluster.DefaultQueue || name == Other || n.reserved[name] || n.own[name]
}

// Place returns the queue under which the jobs of the queue name are counted: name itself or Other. It does not change
// n.
func (n *Names) Place(name string) string {
	if n.limit == 0 || n.has(name) || len(n.reserved)+len(n.own) < n.limit {
		return name
	}
	return Other
}

// Note records a name that reaches the journal. It returns true only for the first name that shares Other.
func (n *Names) Note(name string) (first bool) {
	switch {
	case n.limit == 0 || n.has(name):
	case n.Place(name) == name:
		n.own[name] = true
		n.order = append(n.order, name)
		n.detail(name)
	case n.sharing.add(hashOf(name)):
		n.met++
		return n.met == 1
	}
	return false
}

// detail gives a queue all metrics, unless detailedQueues queues have them already.
func (n *Names) detail(name string) {
	const unnamed = 2 // the default queue and Other do not count
	if n.detailed == nil || n.detailed[name] || len(n.detailed) >= detailedQueues+unnamed {
		return
	}
	n.detailed = maps.Clone(n.detailed) // views share the old map
	n.detailed[name] = true
}

// View returns an immutable copy of the present assignment.
func (n *Names) View() View {
	return View{Named: len(n.reserved) + len(n.own), Folded: n.met, sharing: n.sharing, detailed: n.detailed}
}

// View is an immutable copy of Names. In the zero View every queue is counted separately.
type View struct {
	// Named is the number of names that are counted separately. Folded is the number of names that share Other.
	Named    int
	Folded   uint64
	sharing  hashes
	detailed map[string]bool
}

// Shares reports whether the jobs of a queue are counted under Other. If there are very many such queues, the oldest
// names are forgotten, and Shares returns false for them.
func (v View) Shares(name string) bool { return v.sharing.has(hashOf(name)) }

// Metric returns the queue under which detailed metrics count the jobs of a queue: the queue itself, or Other if it has
// no detailed metrics.
func (v View) Metric(queue string) string {
	if v.detailed == nil || v.detailed[queue] {
		return queue
	}
	return Other
}

// kind and version are the kind and version of the saved Names.
const kind, version = "queuenames", 1

// fields reads or writes the names that the journal had. The reserved names and the limit of n are neither read nor
// written.
func (n *Names) fields(c *codec.Codec) {
	codec.List(c, &n.order, func(name *string) { c.Text(name) })
	c.Uint(&n.met)
	codec.List(c, &n.sharing.full, func(block *[]uint64) { codeHashes(c, block) })
	codeHashes(c, &n.sharing.last)
	if !c.Reading {
		return
	}
	n.own = map[string]bool{}
	for _, name := range n.order {
		n.own[name] = true
		n.detail(name)
	}
}

// codeHashes reads or writes a block of hashes.
func codeHashes(c *codec.Codec, block *[]uint64) {
	codec.List(c, block, func(hash *uint64) { c.Hash(hash) })
	c.Check(len(*block) <= hashBlock, "a block of %d hashes", len(*block))
}

// MarshalBinary returns the saved form of the names that the journal had.
func (n *Names) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, n.fields) }

// UnmarshalBinary restores names that MarshalBinary saved. The reserved names and the limit of n stay as they are. An
// error is a *codec.Error and leaves n unchanged.
func (n *Names) UnmarshalBinary(data []byte) error {
	return codec.Restore(n, kind, version, data, (*Names).fields)
}
