package blend

import (
	"maps"

	"github.com/waitcast/waitcast/internal/codec"
)

// kind and version identify the format of the saved state.
const kind, version = "blend", 3

// fields reads or writes the saved state.
func (b *Blend) fields(c *codec.Codec) {
	o := &b.cfg
	c.Reals(&o.Levels)
	c.Reals(&o.Priors)
	c.Finite(&o.Share, &o.Memory)
	c.Int(&o.MaxGroups)
	if c.Reading {
		c.Refuse(o.fill())
	}
	levels, experts := len(o.Levels), len(o.Priors)
	codeMixers(c, &b.common, levels, experts)
	codec.List(c, &b.groups, func(g *group) {
		c.Text(&g.name)
		codeMixers(c, &g.mixers, levels, experts)
		codeMixers(c, &g.top, levels, 2)
	})
	if !c.Reading || c.Bad {
		return
	}
	b.index, b.chosen = map[string]int{}, make([]int, 0, MaxGroupsOfJob)
	for i := range b.groups {
		b.index[b.groups[i].name] = i
	}
	b.scratch()
}

func codeMixers(c *codec.Codec, all *[]mixer, levels, experts int) {
	codec.List(c, all, func(m *mixer) {
		for _, v := range [...]*[]float64{&m.w, &m.scale, &m.v, &m.eta} {
			c.Reals(v)
			c.Check(len(*v) == experts, "weights of %d experts, not of %d", len(*v), experts)
		}
		if !c.Reading || c.Bad {
			return
		}
		for k, w := range m.w {
			c.Check(w > 0 && w < 2 && m.scale[k] >= 0 && m.v[k] >= 0 && m.eta[k] > 0 && m.eta[k] <= 1,
				"the weight of expert %d is none", k)
		}
	})
	c.Check(len(*all) == levels, "weights of %d levels, not of %d", len(*all), levels)
}

// Clone returns an independent copy. All its numbers are in one allocation, because with hundreds of groups the time
// of a copy is mostly that of its allocations.
func (b *Blend) Clone() *Blend {
	levels, experts := len(b.cfg.Levels), len(b.cfg.Priors)
	mixers := levels * (1 + 2*len(b.groups))
	m := memory{
		mixers:  make([]mixer, 0, mixers),
		numbers: make([]float64, 0, mixerParts*levels*(experts+len(b.groups)*(experts+2))),
	}
	c := &Blend{cfg: b.cfg, index: maps.Clone(b.index), chosen: make([]int, 0, MaxGroupsOfJob),
		groups: make([]group, len(b.groups))}
	c.common = m.copyMixers(b.common)
	for i := range b.groups {
		g := &b.groups[i]
		c.groups[i] = group{g.name, m.copyMixers(g.mixers), m.copyMixers(g.top)}
	}
	c.scratch()
	return c
}

// Share returns a Blend with the same weights and scratch memory of its own, for use in another goroutine. From then
// on neither may learn, forget or grow.
func (b *Blend) Share() *Blend {
	c := &Blend{cfg: b.cfg, common: b.common, groups: b.groups, index: b.index, chosen: make([]int, 0, MaxGroupsOfJob)}
	c.scratch()
	return c
}

// Code reads or writes the weights as a part of other saved state.
func (b *Blend) Code(c *codec.Codec) { c.Part(kind, version, b.fields) }

// MarshalBinary saves the state. Equal histories give equal bytes, in every process.
func (b *Blend) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, b.fields) }

// UnmarshalBinary restores a state that MarshalBinary saved. An error is a *codec.Error and leaves the Blend
// unchanged.
func (b *Blend) UnmarshalBinary(data []byte) error {
	return codec.Restore(b, kind, version, data, (*Blend).fields)
}
