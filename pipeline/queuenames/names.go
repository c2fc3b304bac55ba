// Package queuenames says under which queue the jobs of a cluster are counted. A cluster may have any number of queue
// names, as where each reservation makes one; models, metrics and figures must stay bounded.
package queuenames

import (
	"maps"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
)

// Other is the queue that the jobs of all queues beyond the limit share.
const Other = "other"

// detailedQueues is the number of queues that have all metrics: a queue has some 370 series. The figures of all further
// queues are summed up under Other. 64 queues are 2 MB of text.
const detailedQueues = 64

// Names gives every queue of a cluster its place. The first names of the journal get places of their own, up to a
// limit; all later ones share Other. A name never changes its place. Only names that reach the journal count, so that a
// replay of the journal gives every name the same place. Names is for one goroutine; readers have a View.
type Names struct {
	limit    int             // 0: no limit
	reserved map[string]bool // configured names: they have a place before their first job
	own      map[string]bool // names that came first, in addition to the reserved ones
	order    []string        // the keys of own, in the order of the journal
	detailed map[string]bool // names that have all metrics, at most detailedQueues; replaced where it grows; nil: all
	sharing  hashes          // names that share Other
	met      uint64          // how many names were added to sharing
}

// New returns the names of a cluster of which no event is known. reserved names have a place of their own in any case.
// At most limit names have one, 0 means no limit.
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

// Limit returns the largest number of names with a place of their own, 0 if there is no limit.
func (n *Names) Limit() int { return n.limit }

// has reports whether a name has a place of its own already.
func (n *Names) has(name string) bool {
	return name == "" || name == cluster.DefaultQueue || name == Other || n.reserved[name] || n.own[name]
}

// Place returns the queue under which the jobs of a queue are counted. It changes nothing.
func (n *Names) Place(name string) string {
	if n.limit == 0 || n.has(name) || len(n.reserved)+len(n.own) < n.limit {
		return name
	}
	return Other
}

// Note records a name that reaches the journal, and reports whether it is the first one that shares Other.
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

// detail gives a queue all metrics if there is room.
func (n *Names) detail(name string) {
	const unnamed = 2 // the default and the other queue
	if n.detailed == nil || n.detailed[name] || len(n.detailed) >= detailedQueues+unnamed {
		return
	}
	n.detailed = maps.Clone(n.detailed) // views have the old one
	n.detailed[name] = true
}

// View returns what is known now. Later names do not change it.
func (n *Names) View() View {
	return View{Named: len(n.reserved) + len(n.own), Folded: n.met, sharing: n.sharing, detailed: n.detailed}
}

// View is an immutable copy of the names. The zero View has no limit.
type View struct {
	// Named is the number of queues with models of their own, Folded the number of names that share Other.
	Named    int
	Folded   uint64
	sharing  hashes
	detailed map[string]bool
}

// Shares reports whether a name shares Other. Of very many such names the oldest are forgotten.
func (v View) Shares(name string) bool { return v.sharing.has(hashOf(name)) }

// Metric returns the queue under which detailed metrics count a queue: itself, or Other for one of too many queues.
func (v View) Metric(queue string) string {
	if v.detailed == nil || v.detailed[queue] {
		return queue
	}
	return Other
}

// kind and version are those of the saved state.
const kind, version = "queuenames", 1

// fields passes the names. Configured names and limit stay those of n.
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

// codeHashes passes a block of hashes.
func codeHashes(c *codec.Codec, block *[]uint64) {
	codec.List(c, block, func(hash *uint64) { c.Hash(hash) })
	c.Check(len(*block) <= hashBlock, "a block of %d hashes", len(*block))
}

// MarshalBinary saves the names.
func (n *Names) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, n.fields) }

// UnmarshalBinary restores names that MarshalBinary saved. Configured names and limit stay those of n. The error is a
// *codec.Error; after it the names are as they were.
func (n *Names) UnmarshalBinary(data []byte) error {
	return codec.Restore(n, kind, version, data, (*Names).fields)
}
