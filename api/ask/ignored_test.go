package ask

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// TestMethodsTellWhatTheyIgnore proves that every method, except the experts that learn from all features of a request,
// lists the causes of waits that it ignores, in the words of the interface. Methods that simulate first come, first
// served ignore priorities unless the scheduler's rules order the jobs ahead.
func TestMethodsTellWhatTheyIgnore(t *testing.T) {
	field, _ := reflect.TypeFor[wire.Method]().FieldByName("Ignores")
	words := strings.Split(field.Tag.Get("enum"), ",")
	names := append(ensemble.Names(), headqueue.NameA, headqueue.NameB, headqueue.NameCombined, headqueue.NameExact,
		headqueue.NameFCFS)
	learning := []string{ensemble.Names()[ensemble.Trees], ensemble.Names()[ensemble.TreesRecent],
		ensemble.Names()[ensemble.LinearOnline]}
	for _, name := range names {
		got := ignored(name, false)
		if (len(got) == 0) != slices.Contains(learning, name) {
			t.Errorf("%s ignores %v", name, got)
		}
		for _, word := range got {
			if !slices.Contains(words, word) {
				t.Errorf("%s ignores %s, which the interface does not explain", name, word)
			}
		}
	}
	for _, word := range words {
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(ignored(n, false), word) }) {
			t.Errorf("no method ignores %s", word)
		}
	}
	if slices.Contains(ignored(headqueue.NameFCFS, true), ignoresPriorities) {
		t.Error("the jobs ahead are in the order of the rules, and priorities are called ignored")
	}
}
