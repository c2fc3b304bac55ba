package pbs_test

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/job"
)

// TestReservationQueues proves that the queues of reservations are counted as one queue in every kind of record, except
// a queue that the configuration names.
func TestReservationQueues(t *testing.T) {
	parser := pbs.Format().New(collector.Options{Cluster: "alpha", Location: time.UTC, Queues: []string{"M1", "work"}})
	const theirs = collector.ReservationQueue
	for line, want := range map[string]string{
		"07/03/2024 12:00:00;Q;1.srv;queue=R1234":                                                              theirs,
		"07/03/2024 12:00:00;Q;2.srv;queue=S88.server":                                                         theirs,
		"07/03/2024 12:00:00;S;3.srv;user=u queue=M17 ctime=1720008000 start=1720008000 Resource_List.ncpus=2": theirs,
		"07/03/2024 12:00:00;a;4.srv;queue=R7":                                                                 theirs,
		"07/03/2024 12:00:00;Q;5.srv;queue=M1":                                                                 "M1",
		"07/03/2024 12:00:00;Q;6.srv;queue=work":                                                               "work",
		"07/03/2024 12:00:00;Q;7.srv;queue=R2D2x":                                                              "R2D2x",
	} {
		var got []job.Event
		if err := parser.Parse([]byte(line), func(ev job.Event) { got = append(got, ev) }); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if len(got) != 1 || got[0].Queue != want {
			t.Errorf("%s: %+v, want queue %s", line, got, want)
		}
	}
}
