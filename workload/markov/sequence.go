package markov

// none is an index that stands for no node.
const none int32 = -1

// A node is a job in the sequence of submissions.
type node struct {
	key        string // key of a job that has not ended
	prev, next int32
	point      point // state of a job that has ended
	ended      bool
	// True if the pair with the following job was counted; jobs between them may have been dropped since.
	joined bool
}

// sequence has the jobs that may still belong to a pair that is not counted, linked in order of submission. All nodes
// are in one slice. The unused nodes are also linked by next.
type sequence struct {
	nodes      []node
	head, tail int32
	free       int32
	open       map[string]int32
}

func newSequence() sequence {
	return sequence{head: none, tail: none, free: none, open: map[string]int32{}}
}

// push appends a node and returns its index.
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

// unlink removes a node from the sequence.
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

// pastCounted reports whether all pairs of the node with earlier jobs have been counted.
func (s *sequence) pastCounted(at int32) bool {
	prev := s.nodes[at].prev
	return prev == none || s.nodes[prev].joined
}

// drop removes an ended job from the sequence if its pairs on both sides have been counted. So of consecutive ended
// jobs the first and the last stay. The last job of the sequence always stays.
func (s *sequence) drop(at int32) {
	if at != none && s.nodes[at].joined && s.pastCounted(at) {
		s.unlink(at)
	}
}
