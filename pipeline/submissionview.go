package pipeline

import (
	"time"

	"github.com/waitcast/waitcast/predictor/engine"
)

// viewAge is the maximum age, in event time, of a kept view that is used for a later submission.
const viewAge = time.Second

// maxSecondViews is a number of kept views. If there are at least as many, a view is used for submissions up to
// viewAgeMax after it, otherwise only up to viewAge.
const (
	maxSecondViews = 16
	viewAgeMax     = 30 * time.Second
)

// submissionView is the engine's view at one instant. It is kept to forecast jobs that were submitted then and whose
// size, queue or dependencies become known only later, for example in Slurm's next listing.
type submissionView struct {
	At   time.Time
	View *engine.View
}

// current returns the view for the forecast of a job submitted at the open instant. It may be a kept view; its maximum
// age depends on the events alone.
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
