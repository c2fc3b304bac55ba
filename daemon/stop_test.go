package daemon

import (
	"testing"

	"github.com/waitcast/waitcast/collector/source"
)

// TestStopDropsWhatWaits proves that a stop drops the deliveries that wait for the writer. TestReload and the kill
// tests prove that their lines are read again.
func TestStopDropsWhatWaits(t *testing.T) {
	deliveries := make(chan *source.Delivery, queued)
	for range queued {
		deliveries <- &source.Delivery{}
	}
	if dropQueued(deliveries); len(deliveries) != 0 {
		t.Errorf("%d of %d deliveries wait", len(deliveries), queued)
	}
}
