package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// group collects the data that are stored in one transaction.
type group struct {
	p     *Pipeline
	ctx   context.Context
	begun time.Time
	out   output
	batch modelstore.Batch
	whole groupSize // see keepEvent
	// committing is true while commit runs.
	committing bool
}

// due reports whether the group must be committed before its delivery is complete, because the group is large or old.
func (g *group) due() bool {
	return g.out.full() || len(g.out.entries) >= g.p.partEvents ||
		len(g.out.entries) > 0 && time.Since(g.begun) >= groupTime
}

// commit stores the group and empties it.
func (g *group) commit() error {
	g.committing = true
	defer func() { g.committing = false }()
	g.batch.Entries, g.batch.Rows = g.out.entries, g.out.rows
	if g.p.broken != nil {
		return fmt.Errorf("looking up a job in the journal: %w", g.p.broken)
	}
	if err := g.p.saveClocks(&g.batch); err != nil {
		return err
	}
	g.p.saveBad(&g.batch)
	if err := g.p.commit(g.ctx, &g.batch); err != nil {
		return err
	}
	g.p.heartbeat.beat()
	g.out, g.batch, g.begun = output{}, modelstore.Batch{}, time.Now()
	g.keepEvent()
	return nil
}

// full reports whether the output has reached the bounds of one transaction.
func (o *output) full() bool { return len(o.entries) >= groupEvents || o.bytes >= groupBytes }

// add appends an entry of the journal.
func (o *output) add(e modelstore.Entry) {
	o.entries = append(o.entries, e)
	o.bytes += entryBytes + textBytes(&e.Event)
}

// entryBytes is the approximate memory that an entry needs without its texts, in bytes. It includes the memory for the
// write to the store.
const entryBytes = 512

func textBytes(ev *job.Event) int {
	return len(ev.ID) + len(ev.Queue) + len(ev.User) + len(ev.Account) + len(ev.QOS) + len(ev.Name) +
		len(ev.GPUType) + len(ev.Reason) + len(ev.After) + len(ev.NodeNames) + len(ev.Group)
}

// maxText is the maximum length of an id, in bytes. clip truncates other texts to this length. The longest names of
// jobs in LSF have 4094 bytes.
const maxText = 4096

// clip truncates texts that are too long. It does not change the id, the dependencies (After) and the names of nodes;
// Storable refuses an event whose id is too long.
func clip(ev job.Event) job.Event {
	for _, text := range [...]*string{&ev.Queue, &ev.User, &ev.Account, &ev.QOS, &ev.Name, &ev.GPUType, &ev.Reason,
		&ev.Group} {
		if len(*text) > maxText {
			end := maxText
			for end > maxText-utf8.UTFMax && !utf8.RuneStart((*text)[end]) {
				end--
			}
			*text = strings.Clone((*text)[:end])
		}
	}
	return ev
}
