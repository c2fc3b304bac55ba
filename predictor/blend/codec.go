package blend

import (
	"fmt"
	"maps"
	"math"

	"github.com/waitcast/waitcast/predictor/codec"
)

// version is the first byte of the saved form.
const version = 2

type savedMixer struct{ W, Scale, V, Eta []float64 }

type savedGroup struct {
	Name        string
	Mixers, Top []savedMixer
}

type saved struct {
	Config Config
	Common []savedMixer
	Groups []savedGroup
}

// code passes all that is saved.
func (s *saved) code(c *codec.Codec) {
	c.Reals(&s.Config.Levels)
	c.Reals(&s.Config.Priors)
	c.Finite(&s.Config.Share, &s.Config.Memory)
	c.Int(&s.Config.MaxGroups)
	codeMixers(c, &s.Common)
	codec.List(c, &s.Groups, func(g *savedGroup) {
		c.Text(&g.Name)
		codeMixers(c, &g.Mixers)
		codeMixers(c, &g.Top)
	})
}

func codeMixers(c *codec.Codec, all *[]savedMixer) {
	codec.List(c, all, func(m *savedMixer) {
		for _, v := range [...]*[]float64{&m.W, &m.Scale, &m.V, &m.Eta} {
			c.Reals(v)
		}
	})
}

func save(ms []mixer) []savedMixer {
	out := make([]savedMixer, len(ms))
	for i, m := range ms {
		out[i] = savedMixer{m.w, m.scale, m.v, m.eta}
	}
	return out
}

func load(ms []savedMixer, levels, experts int) ([]mixer, error) {
	if len(ms) != levels {
		return nil, fmt.Errorf("blend: saved state has %d levels, want %d", len(ms), levels)
	}
	out := make([]mixer, len(ms))
	for i, m := range ms {
		if len(m.W) != experts || len(m.Scale) != experts || len(m.V) != experts || len(m.Eta) != experts {
			return nil, fmt.Errorf("blend: saved state of level %d is not of %d experts", i, experts)
		}
		for k, w := range m.W {
			if !(w > 0 && w < 2) || !(m.Scale[k] >= 0) || !(m.V[k] >= 0) || math.IsInf(m.V[k], 1) ||
				!(m.Eta[k] > 0 && m.Eta[k] <= 1) {
				return nil, fmt.Errorf("blend: saved weight of level %d, expert %d is not a weight", i, k)
			}
		}
		out[i] = mixer{m.W, m.Scale, m.V, m.Eta}
	}
	return out, nil
}

// Clone returns an independent copy. All its numbers lie in one piece of memory: with hundreds of groups the time of a
// copy is that of its allocations.
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

// Share returns a Blend with the same weights and scratch memory of its own, to combine in another goroutine. Neither
// may learn, forget or grow from then on.
func (b *Blend) Share() *Blend {
	c := &Blend{cfg: b.cfg, common: b.common, groups: b.groups, index: b.index, chosen: make([]int, 0, MaxGroupsOfJob)}
	c.scratch()
	return c
}

// MarshalBinary saves the state; the same history gives the same bytes, in every process.
func (b *Blend) MarshalBinary() ([]byte, error) {
	s := saved{Config: b.cfg, Common: save(b.common)}
	for _, g := range b.groups {
		s.Groups = append(s.Groups, savedGroup{g.name, save(g.mixers), save(g.top)})
	}
	c := &codec.Codec{Writer: codec.Writer{version}}
	s.code(c)
	return c.Writer, nil
}

// UnmarshalBinary restores what MarshalBinary saved. After an error the Blend is as it was.
func (b *Blend) UnmarshalBinary(data []byte) error {
	c := &codec.Codec{Reader: codec.Reader{Rest: data}, Reading: true}
	var s saved
	if c.Byte() == version {
		s.code(c)
	}
	if c.Bad || len(c.Rest) > 0 || len(data) == 0 {
		return fmt.Errorf("blend: saved state: %d bytes that no blend of this version wrote: start afresh", len(data))
	}
	out, err := New(s.Config)
	if err != nil {
		return fmt.Errorf("blend: saved state: %w", err)
	}
	levels, experts := len(s.Config.Levels), len(s.Config.Priors)
	if out.common, err = load(s.Common, levels, experts); err != nil {
		return err
	}
	for _, g := range s.Groups {
		mixers, err := load(g.Mixers, levels, experts)
		if err != nil {
			return err
		}
		top, err := load(g.Top, levels, 2)
		if err != nil {
			return err
		}
		out.index[g.Name] = len(out.groups)
		out.groups = append(out.groups, group{g.Name, mixers, top})
	}
	*b = *out
	return nil
}
