package collector_test

import (
	"testing"

	"github.com/waitcast/waitcast/collector"
)

// TestIsReservationQueue proves that IsReservationQueue accepts the names that a PBS server gives to queues of
// reservations, and no others.
func TestIsReservationQueue(t *testing.T) {
	for name, want := range map[string]bool{
		"R1": true, "R1234": true, "S77": true, "M9": true, "R1234.server": true, "M9.pbs.example.org": true,
		"": false, "R": false, "RS1": false, "R12a": false, "r12": false, "Q12": false, "R-1": false, "R12.": false,
		".R12": false, "12": false, "reservation": false, "R 1": false, "R١": false,
	} {
		if got := collector.IsReservationQueue(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
