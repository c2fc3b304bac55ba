package ask

import (
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// HistoryRequest selects the starts whose waits are reported, and the page of days to return.
type HistoryRequest struct {
	// Since and Until bound the instants of the starts; a zero Until is no bound.
	Since, Until time.Time
	// Limit is the maximum number of days, Offset the number of days to skip.
	Limit, Offset int
}

// History reports the waits in the ledger by queue and day.
func (s *Service) History(v *readmodel.View, in *HistoryRequest, found *accuracy.DailyWaits) wire.History {
	out := wire.History{Cluster: v.Cluster, Since: in.Since, AsOf: s.AsOfInstant(v), Days: []wire.HistoryDay{},
		TimeZone: v.Models.Zone().String()}
	if !in.Until.IsZero() {
		out.Until = &in.Until
	}
	_, out.AgeSeconds, out.Stale = s.AsOf(v)
	days := found.Days()
	out.Total = len(days)
	days = days[min(in.Offset, len(days)):]
	for _, d := range days[:min(in.Limit, len(days))] {
		out.Days = append(out.Days,
			wire.HistoryDay{Day: d.Day, Queue: d.Queue, Started: d.Started, Median: d.Median, P90: d.P90})
	}
	if next := in.Offset + len(out.Days); next < out.Total {
		out.NextOffset = &next
	}
	return out
}
