package markov

// none is the index of no node.
const none int32 = -1

// A node is a job in the sequence of submissions.
type node struct {
	key        string // of a job that has not ended
	prev, next int32
	point      point // of a job that has ended
	ended      bool
	joined     bool // the pair with what came next has been counted; jobs in between may have been dropped since
}

// sequence is the jobs that may still be half of a pair that is not counted, linked in the order of submission, in
// one slice whose unused nodes are linked by next.
type sequence struct {
	nodes      []node
	head, tail int32
	free       int32
	open       map[string]int32
}

func newSequence() sequence {
	return sequence{head: none, tail: none, free: none, open: map[string]int32{}}
}

// push puts a node at the end and returns its index.
func (s *sequence) push(n node) int32 {
	n.prev, n.next = s.tail, none
	at := s.free
	if at != none {
		s.free = s.nodes[at].next
		s.nodes[at] = n
	} else {
		at = int32(len(s.nodes))
		s.nodes = append(s.nodes, n)
	}
	if n.prev != none {
		s.nodes[n.prev].next = at
	} else {
		s.head = at
	}
	s.tail = at
	return at
}

// unlink takes a node out of the sequence.
func (s *sequence) unlink(at int32) {
	prev, next := s.nodes[at].prev, s.nodes[at].next
	if prev != none {
		s.nodes[prev].next = next
	} else {
		s.head = next
	}
	if next != none {
		s.nodes[next].prev = prev
	} else {
		s.tail = prev
	}
	s.nodes[at] = node{next: s.free}
	s.free = at
}

// pastCounted reports whether no pair of the node with an earlier job is still to be counted.
func (s *sequence) pastCounted(at int32) bool {
	prev := s.nodes[at].prev
	return prev == none || s.nodes[prev].joined
}

// drop takes an ended job out of the sequence if its pairs on both sides have been counted. (Of a run of ended jobs
// the two at the edges stay; the last job of the sequence always does.)
func (s *sequence) drop(at int32) {
	if at != none && s.nodes[at].joined && s.pastCounted(at) {
		s.unlink(at)
	}
}
