package sizestudy

import (
	"math"
	"testing"
)

// TestBacklogByHand compares two means with values worked out by hand. The mean of a queue of constant length is that
// length. If a queue was empty for long and then has 10 jobs for the time memory, its mean is 10 (1 - 1/e).
func TestBacklogByHand(t *testing.T) {
	var b, quiet backlog
	b.observe(100, 10)
	if got := b.mean(100); got != 10 {
		t.Errorf("no time passed: %v", got)
	}
	if got := b.mean(100 + memory); math.Abs(got-10) > 1e-12 {
		t.Errorf("constant: %v", got)
	}
	quiet.observe(0, 0)
	quiet.observe(100*memory, 10)
	if got, want := quiet.mean(101*memory), 10*(1-1/math.E); math.Abs(got-want) > 1e-9 {
		t.Errorf("jump: %v, want %v", got, want)
	}
}
