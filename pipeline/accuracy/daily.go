package accuracy

import (
	"cmp"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/modelstore"
)

// DailyWaits collects the waits of started jobs by queue and by the day on which they started in a time zone.
type DailyWaits struct {
	zone  *time.Location
	waits map[queueDay][]float64 // seconds
}

// queueDay is one day of one queue.
type queueDay struct{ day, queue string }

// DayOfWaits describes the waits of the jobs of one queue that started on one day.
type DayOfWaits struct {
	// Day is a date in the form of time.DateOnly.
	Day, Queue string
	Started    int
	// Median and P90 are the 0.5 and 0.9 quantiles of the waits in seconds.
	Median, P90 float64
}

// NewDailyWaits returns a collection without waits.
func NewDailyWaits(zone *time.Location) *DailyWaits {
	return &DailyWaits{zone: zone, waits: map[queueDay][]float64{}}
}

// Add adds a row of the ledger. Rows of jobs that did not start are ignored.
func (d *DailyWaits) Add(r *modelstore.Row) {
	if r.Outcome != modelstore.Started {
		return
	}
	at := queueDay{r.Start.In(d.zone).Format(time.DateOnly), r.Queue}
	d.waits[at] = append(d.waits[at], r.WaitSeconds)
}

// Days returns all days, newest first, with the queues of each day sorted by name.
func (d *DailyWaits) Days() []DayOfWaits {
	out := make([]DayOfWaits, 0, len(d.waits))
	for at, waits := range d.waits {
		slices.Sort(waits)
		out = append(out, DayOfWaits{Day: at.day, Queue: at.queue, Started: len(waits),
			Median: stat.Quantile(.5, stat.Empirical, waits, nil), P90: stat.Quantile(.9, stat.Empirical, waits, nil)})
	}
	slices.SortFunc(out, func(a, b DayOfWaits) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(a.Queue, b.Queue))
	})
	return out
}
