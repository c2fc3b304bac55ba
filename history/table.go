package history

// table maps hashes to values. It needs half the memory of a Go map. That matters because a history has millions of
// entries. The zero value is an empty table.
type table[V any] struct {
	keys   []uint64 // 0 marks a free slot
	values []V
	used   int
}

// slot returns the index of a key. If the key is missing, it returns the index of the free slot where the key would
// be stored.
func (t *table[V]) slot(key uint64) int {
	mask := len(t.keys) - 1 // the number of slots is a power of two
	at := int(key) & mask   //nolint:gosec // any bits of a hash will do
	for t.keys[at] != key && t.keys[at] != 0 {
		at = (at + 1) & mask
	}
	return at
}

// keyOf converts a hash to a key, which is never 0.
func keyOf(hash uint64) uint64 {
	if hash == 0 {
		return 1
	}
	return hash
}

// get returns the value of a hash.
func (t *table[V]) get(hash uint64) (value V, known bool) {
	if t.used == 0 {
		return value, false
	}
	key := keyOf(hash)
	at := t.slot(key)
	return t.values[at], t.keys[at] == key
}

// set sets the value of a hash.
func (t *table[V]) set(hash uint64, value V) {
	if 4*(t.used+1) > 3*len(t.keys) {
		t.grow()
	}
	key := keyOf(hash)
	at := t.slot(key)
	if t.keys[at] == 0 {
		t.keys[at] = key
		t.used++
	}
	t.values[at] = value
}

// grow doubles the number of slots.
func (t *table[V]) grow() {
	size := max(1024, 2*len(t.keys))
	next := table[V]{keys: make([]uint64, size), values: make([]V, size), used: t.used}
	for i, key := range t.keys {
		if key != 0 {
			at := next.slot(key)
			next.keys[at], next.values[at] = key, t.values[i]
		}
	}
	*t = next
}
