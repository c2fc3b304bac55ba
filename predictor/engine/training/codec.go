package training

import (
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/boost"
)

// Code passes the trees of all levels, for rows of so many features.
func (t *Trees) Code(s *codec.Codec, levels, features int) {
	for _, all := range [...]*[]*boost.Model{&t.Models, &t.Recent} {
		codec.List(s, all, func(m **boost.Model) {
			if s.Reading {
				*m = &boost.Model{}
			}
			(*m).Code(s)
			s.Check((*m).Features == features, "trees for %d features, not %d", (*m).Features, features)
		})
		if s.Reading && len(*all) != 0 && len(*all) != levels {
			s.Fail()
		}
	}
	if s.Reading && !s.Bad {
		var err error
		*t, err = NewTrees(t.Models, t.Recent)
		s.Refuse(err)
	}
}

// CodeRecord passes the instants of the trainings; counts are not saved.
func CodeRecord(s *codec.Codec, b *Record) {
	s.Finite(&b.begun, &b.Trees)
	s.Int(&b.From)
}

// Code passes the rows, the trees and a training under way.
func (l *Learner) Code(s *codec.Codec, features int) {
	s.Int(&l.Seen, &l.Trained)
	s.Flag(&l.Soon)
	l.codeChanges(s, &l.Changes)
	codec.List(s, &l.Rows, func(row *[]float32) {
		s.Singles(row)
		if len(*row) != features {
			s.Fail()
		}
	})
	s.Reals(&l.targets)
	l.Trees.Code(s, len(l.cfg.Levels), features)
	trains := l.Next != nil
	if s.Flag(&trains); trains {
		if s.Reading {
			l.Next = &training{}
		}
		s.Int(&l.Next.From, &l.Next.Due)
		l.codeChanges(s, &l.Next.Changes)
		if s.Reading && (l.Next.From > l.Seen || l.Seen-l.Next.From >= len(l.Rows)) {
			s.Fail()
		}
	}
	if len(l.Rows) != len(l.targets) {
		s.Fail()
	}
}

func (l *Learner) codeChanges(s *codec.Codec, changes *[]int) {
	codec.List(s, changes, func(at *int) { s.Int(at) })
	if s.Reading && (!slices.IsSorted(*changes) || len(*changes) > 0 && (*changes)[len(*changes)-1] > l.Seen) {
		s.Fail()
	}
}
