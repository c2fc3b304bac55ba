package daemon

import (
	"testing"

	"github.com/waitcast/waitcast/collector/source"
)

// TestStopDropsWhatWaits proves that deliveries that wait for the writer at a stop are dropped. TestReload and the kill
// tests prove that they are read again.
func TestStopDropsWhatWaits(t *testing.T) {
	deliveries := make(chan *source.Delivery, queued)
	for range queued {
		deliveries <- &source.Delivery{}
	}
	if dropQueued(deliveries); len(deliveries) != 0 {
		t.Errorf("%d of %d deliveries wait", len(deliveries), queued)
	}
}
