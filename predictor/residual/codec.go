package residual

import (
	"cmp"
	"maps"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
)

// kind and version identify the format of the saved state.
const kind, version = "residual", 3

// fields reads or writes all saved state, including the running jobs.
func (m *Model) fields(c *codec.Codec) {
	o := m.config
	c.Int(&o.Runs, &o.Users, &o.QueuesOfUser, &o.Classes)
	c.Finite(&o.Memory, &o.Recency, &o.Prior, &o.Parent, &o.Width, &o.Sharp, &o.SameApp, &o.SameLimit, &o.SameSize)
	if c.Reading {
		*m = *New(o)
	}
	c.Uint(&m.ended)
	c.Between(0, longest, &m.reached, &m.outlived)
	key := func(k *classKey) { k.fields(c) }
	codec.MapOf(c, &m.classes, classKey.compare, key, func(v **class) {
		if c.Reading {
			*v = &class{running: map[int64]alive{}}
		}
		(*v).fields(c)
	})
	user := func(k *userKey) { c.Text(&k.queue, &k.user) }
	codec.MapOf(c, &m.users, userKey.compare, user, func(v **history) {
		if c.Reading {
			*v = &history{running: map[int64]run{}}
		}
		(*v).fields(c, m.config.Runs)
	})
	id := func(id *int64) { c.Signed(id) }
	codec.MapOf(c, &m.open, cmp.Compare[int64], id, func(r *running) {
		c.Text(&r.job.Queue, &r.job.User, &r.job.App)
		codec.Number(c, &r.job.Procs)
		c.Finite(&r.job.Limit, &r.start)
		for i := range r.since {
			c.Uint(&r.since[i])
		}
		if c.Reading {
			r.job = r.job.clean()
		}
	})
	if c.Reading {
		for key := range m.users {
			m.queues[key.user]++
		}
		for id, r := range m.open {
			m.resume(id, r)
		}
	}
}

func (k *classKey) fields(c *codec.Codec) {
	c.Text(&k.queue)
	codec.Number(c, &k.kind)
	codec.Number(c, &k.limit)
	c.Flag(&k.serial)
	c.Check(k.kind < kinds, "a class of kind %d", k.kind)
}

func (k classKey) compare(o classKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.queue, o.queue), cmp.Compare(k.side(), o.side()),
		cmp.Compare(k.limit, o.limit))
}

func (k classKey) side() int {
	if k.serial {
		return 1
	}
	return 0
}

func (k userKey) compare(o userKey) int {
	return cmp.Or(cmp.Compare(k.queue, o.queue), cmp.Compare(k.user, o.user))
}

// fields reads or writes a class. Only cells that are not 0 are stored.
func (k *class) fields(c *codec.Codec) {
	c.Between(0, mostWeight, &k.total, &k.weight)
	c.Int(&k.pending)
	c.Uint(&k.n, &k.used)
	c.Finite(&k.seen)
	var used []int
	for i, v := range k.counts {
		if v > 0 || k.hazard[i] > 0 {
			used = append(used, i)
		}
	}
	codec.List(c, &used, func(i *int) {
		if c.Int(i); *i >= Bins {
			c.Failf("cell %d of %d", *i, Bins)
			return
		}
		c.Between(0, mostWeight, &k.counts[*i])
		c.Between(0, 1, &k.hazard[*i])
	})
}

func (h *history) fields(c *codec.Codec, most int) {
	c.Uint(&h.used)
	c.Finite(&h.seen)
	codec.List(c, &h.runs, func(r *run) {
		c.Between(0, longest, &r.seconds, &r.limit)
		c.Hash(&r.app)
		if codec.Number(c, &r.procs); c.Reading {
			r.prepare()
		}
	})
	c.Check(len(h.runs) <= most, "%d runs of a user, more than %d", len(h.runs), most)
}

// resume adds a running job to m.open, and to the running jobs of its user and its classes.
func (m *Model) resume(id int64, r running) {
	m.open[id] = r
	if h := m.users[userKey{r.job.Queue, r.job.User}]; h != nil {
		h.running[id] = r.job.run(r.start)
	}
	for i, key := range r.job.keys() {
		if c := m.classes[key]; c != nil && r.job.has(i) {
			a := alive{start: r.start, since: r.since[i]}
			if i == kindRatio {
				a.limit = r.job.Limit
			}
			c.running[id] = a
		}
	}
}

// Code reads or writes the model as a part of other saved state.
func (m *Model) Code(c *codec.Codec) {
	if from := m; codec.Hand(c, &from) {
		if c.Reading && !c.Bad {
			*m = *from.clone()
		}
		return
	}
	c.Part(kind, version, m.fields)
}

// clone returns an independent copy with the same state.
func (m *Model) clone() *Model {
	c := New(m.config)
	c.ended, c.reached, c.outlived, c.open = m.ended, m.reached, m.outlived, maps.Clone(m.open)
	c.queues, c.forgotten = maps.Clone(m.queues), m.forgotten
	for key, of := range m.classes {
		own := *of
		own.running = maps.Clone(of.running)
		c.classes[key] = &own
	}
	for key, of := range m.users {
		own := *of
		own.runs, own.running = slices.Clone(of.runs), maps.Clone(of.running)
		c.users[key] = &own
	}
	return c
}

// MarshalBinary saves the model, including the running jobs. Equal histories give equal bytes.
func (m *Model) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, m.fields) }

// UnmarshalBinary restores a model that MarshalBinary saved. It then learns and answers, to the last bit, as the
// saved one would. A model that it accepts answers within the bounds that Law states. The error is a *codec.Error and
// leaves the model unchanged.
func (m *Model) UnmarshalBinary(data []byte) error {
	return codec.Restore(m, kind, version, data, (*Model).fields)
}
