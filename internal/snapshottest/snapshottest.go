// Package snapshottest decodes parts of snapshots, to compare two daemons that have read the same events at different
// times, for example because one was killed and read some events later.
package snapshottest

import (
	"encoding/json"
	"fmt"

	"github.com/waitcast/waitcast/internal/codec"
)

// Decode returns the JSON value of a part of a snapshot. It leaves out the fields live, replayed, duplicates and
// orphans, because they are not in the journal.
func Decode(data []byte) (any, error) {
	_, _, fields, err := codec.Open(data)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(fields.Bytes(), &v); err != nil {
		return nil, err
	}
	return strip(v), nil
}

func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"live", "replayed", "duplicates", "orphans"} {
			delete(v, key)
		}
		if decisions, ok := v["decisions"].(map[string]any); ok {
			joinMade(decisions)
		}
		for _, child := range v {
			strip(child)
		}
	case []any:
		for _, child := range v {
			strip(child)
		}
	}
	return v
}

// joinMade replaces the counts of decided forecasts that were made live, and of those that were made later, by their
// sums. It removes the newest forecasts of each kind. These data depend on when the daemon ran.
func joinMade(decisions map[string]any) {
	delete(decisions, "newest")
	counts, _ := decisions["counts"].(map[string]any)
	for group, both := range counts {
		sum := map[string]float64{}
		for _, made := range both.([]any) {
			for level, outcomes := range made.([]any) {
				for outcome, n := range outcomes.(map[string]any) {
					sum[fmt.Sprint(level, " ", outcome)] += n.(float64)
				}
			}
		}
		counts[group] = sum
	}
}
