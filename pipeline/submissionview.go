package pipeline

import (
	"time"

	"github.com/waitcast/waitcast/predictor/engine"
)

// viewAge is the maximum age, in event time, of a kept view that is used for a later submission too, while few views
// are kept.
const viewAge = time.Second

// If at least maxSecondViews views are kept, the maximum age is viewAgeMax instead of viewAge.
const (
	maxSecondViews = 16
	viewAgeMax     = 30 * time.Second
)

// submissionView is the engine's view at one instant. It is kept for late forecasts of jobs that were submitted then:
// their size, queue or dependencies become known only later, for example from Slurm's next listing.
type submissionView struct {
	At   time.Time
	View *engine.View
}

// current returns the view to keep for a job submitted at the open instant. It may be an earlier kept view that is not
// too old. Its maximum age depends on the events alone, so every run uses the same views.
func (l *ledger) current() *submissionView {
	kept := map[*submissionView]bool{}
	for _, o := range l.late {
		kept[o.View] = true
	}
	age := viewAge
	if len(kept) >= maxSecondViews {
		age = viewAgeMax
	}
	if l.newestView == nil || l.instant.Sub(l.newestView.At) > age {
		l.newestView = &submissionView{At: l.instant, View: l.feeder.engine.View(clock(l.instant))}
	}
	return l.newestView
}
