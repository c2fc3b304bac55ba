package training

import (
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/boost"
)

// Code reads or writes the trees of all levels, for rows with the given number of features.
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

// CodeRecord reads or writes the instants of the trainings. It omits the counts, which are not saved.
func CodeRecord(s *codec.Codec, b *Record) {
	s.Finite(&b.begun, &b.Trees)
	s.Int(&b.From)
}

// Code reads or writes the rows, the trees and a running training.
func (l *Learner) Code(s *codec.Codec, features int) {
	s.Int(&l.Seen, &l.Trained)
	s.Flag(&l.Soon)
	l.codeChanges(s, &l.Changes)
	l.codeRows(s, features)
	s.Reals(&l.targets)
	l.Trees.Code(s, len(l.cfg.Levels), features)
	trains := l.Next != nil
	if s.Flag(&trains); trains {
		if s.Reading {
			l.Next = &training{}
		}
		s.Int(&l.Next.From, &l.Next.Due)
		l.codeChanges(s, &l.Next.Changes)
		if s.Reading && (l.Next.From > l.Seen || l.Seen-l.Next.From >= l.Rows.Len()) {
			s.Fail()
		}
	}
	if l.Rows.Len() != len(l.targets) {
		s.Fail()
	}
}

// codeRows reads or writes the rows one by one, each with the given number of features.
func (l *Learner) codeRows(s *codec.Codec, features int) {
	n := uint64(l.Rows.Len())
	if s.Uint(&n); s.Reading {
		l.Rows = Rows{}
	}
	var row []float32
	for i := 0; uint64(i) < n && !s.Bad; i++ {
		if !s.Reading {
			row = l.Rows.Row(i, row)
		}
		s.Singles(&row)
		if len(row) != features {
			s.Fail()
			return
		}
		if s.Reading {
			l.Rows.Append(row)
		}
	}
}

func (l *Learner) codeChanges(s *codec.Codec, changes *[]int) {
	codec.List(s, changes, func(at *int) { s.Int(at) })
	if s.Reading && (!slices.IsSorted(*changes) || len(*changes) > 0 && (*changes)[len(*changes)-1] > l.Seen) {
		s.Fail()
	}
}
