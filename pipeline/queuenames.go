package pipeline

import (
	"errors"
	"hash/fnv"
	"slices"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/codec"
)

// OtherQueue is the queue that the jobs of all queues beyond Config.MaxQueues share.
const OtherQueue = "other"

// The names that share OtherQueue are remembered by their hashes, so that a question about one of them can be answered:
// the newest sharingBlocks full blocks of sharingBlock names. Older ones are forgotten.
const (
	sharingBlock  = 1024
	sharingBlocks = 64
)

// queueNames says under which queue the jobs of a cluster are counted. The first names of the journal get a place of
// their own, up to a limit; every later one shares OtherQueue. A name never changes its place. Only names that reach
// the journal count, so that a replay of the journal gives every name the same place.
type queueNames struct {
	limit    int             // 0: no limit
	reserved map[string]bool // configured names: they have a place before their first job
	own      map[string]bool // names that came first, in addition to the reserved ones
	order    []string        // the keys of own, in the order of the journal
	detailed map[string]bool // names that have all metrics, at most detailedQueues; replaced where it grows. nil: all names
	sharing  nameHashes      // names that share OtherQueue
	met      uint64          // how many names were added to sharing
}

// newQueueNames returns the names of a cluster of which no event is known.
func newQueueNames(cfg ClusterConfig, limit int) *queueNames {
	n := &queueNames{limit: limit, reserved: map[string]bool{}, own: map[string]bool{}}
	if limit > 0 {
		n.detailed = map[string]bool{cluster.DefaultQueue: true, OtherQueue: true}
	}
	queues := slices.Clone(cfg.Queues)
	for _, p := range cfg.Pools {
		queues = append(queues, p.Queues...)
	}
	for _, q := range queues {
		n.reserved[q] = true
		n.detail(q)
	}
	return n
}

// has reports whether a name has a place of its own already.
func (n *queueNames) has(name string) bool {
	return name == "" || name == cluster.DefaultQueue || name == OtherQueue || n.reserved[name] || n.own[name]
}

// place returns the queue under which the jobs of a queue are counted. It changes nothing.
func (n *queueNames) place(name string) string {
	if n.limit == 0 || n.has(name) || len(n.reserved)+len(n.own) < n.limit {
		return name
	}
	return OtherQueue
}

// note takes in a name that reaches the journal, and reports whether it is the first one that shares OtherQueue.
func (n *queueNames) note(name string) (first bool) {
	switch {
	case n.limit == 0 || n.has(name):
	case n.place(name) == name:
		n.own[name] = true
		n.order = append(n.order, name)
		n.detail(name)
	case n.sharing.add(nameHash(name)):
		n.met++
		return n.met == 1
	}
	return false
}

// nameHashes is a set of hashes in blocks, the oldest first. A copy of it stays as it was when it was made: full blocks
// never change, and the last one is only appended to.
type nameHashes struct {
	full [][]uint64 // each sorted
	last []uint64
}

func (s *nameHashes) has(hash uint64) bool {
	if slices.Contains(s.last, hash) {
		return true
	}
	return slices.ContainsFunc(s.full, func(block []uint64) bool {
		_, found := slices.BinarySearch(block, hash)
		return found
	})
}

// add reports whether the hash was not in the set.
func (s *nameHashes) add(hash uint64) bool {
	if s.has(hash) {
		return false
	}
	s.last = append(s.last, hash)
	if len(s.last) < sharingBlock {
		return true
	}
	s.full = append(slices.Clone(s.full[max(0, len(s.full)+1-sharingBlocks):]), slices.Sorted(slices.Values(s.last)))
	s.last = nil
	return true
}

// MarshalBinary saves the names.
func (n *queueNames) MarshalBinary() ([]byte, error) {
	var out codec.Writer
	out.Uint(uint64(len(n.order)))
	for _, name := range n.order {
		out.Blob([]byte(name))
	}
	out.Uint(n.met, uint64(len(n.sharing.full)))
	for _, block := range append(slices.Clone(n.sharing.full), n.sharing.last) {
		out.Uint(uint64(len(block)))
		for _, hash := range block {
			out.Hash(hash)
		}
	}
	return out, nil
}

var errQueueNames = errors.New("saved names of queues: they end too early, or a block of hashes is too long")

// UnmarshalBinary restores what MarshalBinary saved.
func (n *queueNames) UnmarshalBinary(data []byte) error {
	d := codec.Reader{Rest: data}
	in := queueNames{limit: n.limit, reserved: n.reserved, own: map[string]bool{}}
	for range d.Count() {
		name := string(d.Bytes())
		in.own[name], in.order = true, append(in.order, name)
	}
	in.met = d.Uint()
	for range d.Count() {
		in.sharing.full = append(in.sharing.full, readHashes(&d))
	}
	in.sharing.last = readHashes(&d)
	if d.Bad {
		return errQueueNames
	}
	in.detailed = n.detailed
	for _, name := range in.order {
		in.detail(name)
	}
	*n = in
	return nil
}

// readHashes reads a block of hashes.
func readHashes(d *codec.Reader) []uint64 {
	k := d.Count()
	if k > sharingBlock {
		d.Fail()
	}
	var out []uint64
	for ; k > 0 && !d.Bad; k-- {
		out = append(out, d.Hash())
	}
	return out
}

// nameHash stands for the name of a queue.
func nameHash(name string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // never fails
	return hash.Sum64()
}
