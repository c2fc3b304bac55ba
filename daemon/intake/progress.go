package intake

import (
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// begins publishes the beginning of a stage, with the number of bytes or events that the stage will process.
func (r *run) begins(stage string, total int64) {
	r.began = time.Now()
	r.shown = wire.ImportProgress{Stage: stage, Total: total}
	r.publish()
}

// advance adds to the progress, and publishes it once for every progressEvents events.
func (r *run) advance(by int64) {
	if r.shown.Done += by; r.shown.Done%progressEvents < by {
		r.publish()
	}
}

// advanceTo sets and publishes the progress.
func (r *run) advanceTo(done int64) {
	r.shown.Done = done
	r.publish()
}

func (r *run) publish() {
	p := r.shown
	p.Bytes, p.Lines, p.BadLines = r.request.Files.Read(), r.report.Lines, r.report.BadLines
	if p.Done > 0 && p.Total >= p.Done {
		left := time.Since(r.began).Seconds() / float64(p.Done) * float64(p.Total-p.Done)
		p.RemainingSeconds = &left
	}
	r.show(&p)
}
