package accuracy

import (
	"container/heap"
	"maps"
	"slices"
)

// TakeLive copies the outcomes of live forecasts from the Decisions of another state of the same cluster. They replace
// those in d for the same queues and sizes. It also begins to follow the live forecasts that are followed there. It
// returns a map from the old numbers of these forecasts to the new ones.
func (d *Decisions) TakeLive(from *Decisions) map[uint64]uint64 {
	const live = 0 // MadeIndex(false)
	for k, c := range from.Counts {
		d.of(k)[live] = slices.Clone(c[live])
	}
	for queue, n := range from.Newest {
		d.newest(queue)[live] = n.clone()[live]
	}
	numbers := map[uint64]uint64{}
	for _, number := range slices.Sorted(maps.Keys(from.Followed)) {
		f := *from.Followed[number]
		if f.Replayed {
			continue
		}
		f.Number, f.Quantiles = d.Next, slices.Clone(f.Quantiles)
		numbers[number] = d.Next
		d.Next++
		d.Followed[f.Number] = &f
		heap.Push(&d.due, &f)
	}
	return numbers
}

// Forget stops following the forecast with the given number, if it is followed.
func (d *Decisions) Forget(number uint64) {
	if f := d.Followed[number]; f != nil {
		d.drop(f)
	}
}
