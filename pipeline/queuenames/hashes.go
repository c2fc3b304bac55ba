package queuenames

import (
	"hash/fnv"
	"slices"
)

// The jobs of all queues beyond the limit are counted under the queue Other. The hashes of the names of these queues
// are kept, so that requests about the queues can be answered. At most hashBlocks full blocks of hashBlock hashes are
// kept; older hashes are forgotten.
const (
	hashBlock  = 1024
	hashBlocks = 64
)

// hashes is a set of hashes in blocks, the oldest block first. Later additions do not affect a copy: full blocks never
// change, and new hashes are only appended to the last block.
type hashes struct {
	full [][]uint64 // each block is sorted
	last []uint64
}

func (s *hashes) has(hash uint64) bool {
	if slices.Contains(s.last, hash) {
		return true
	}
	return slices.ContainsFunc(s.full, func(block []uint64) bool {
		_, found := slices.BinarySearch(block, hash)
		return found
	})
}

// add adds a hash, and reports whether it was new.
func (s *hashes) add(hash uint64) bool {
	if s.has(hash) {
		return false
	}
	s.last = append(s.last, hash)
	if len(s.last) < hashBlock {
		return true
	}
	s.full = append(slices.Clone(s.full[max(0, len(s.full)+1-hashBlocks):]), slices.Sorted(slices.Values(s.last)))
	s.last = nil
	return true
}

// hashOf returns the hash of a queue's name.
func hashOf(name string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // never fails
	return hash.Sum64()
}
