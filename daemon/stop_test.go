package daemon

import (
	"testing"

	"github.com/waitcast/waitcast/collector/source"
)

// TestStopDropsWhatWaits proves that what waits for the writer at a stop is dropped. TestReload and the tests that kill
// prove that it is read again.
func TestStopDropsWhatWaits(t *testing.T) {
	deliveries := make(chan *source.Delivery, queued)
	for range queued {
		deliveries <- &source.Delivery{}
	}
	if dropQueued(deliveries); len(deliveries) != 0 {
		t.Errorf("%d of %d deliveries wait", len(deliveries), queued)
	}
}
