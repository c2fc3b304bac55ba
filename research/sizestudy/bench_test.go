package sizestudy

import (
	"testing"
)

// BenchmarkPlay measures, for several rules, a run of 6,000 consecutive jobs that all follow the rule.
func BenchmarkPlay(b *testing.B) {
	for _, rule := range []Rule{Request, AtHead, AtSubmit, AtBoth} {
		b.Run(rule.String(), func(b *testing.B) {
			w := stretch(b, 6000, .8, 1)
			for b.Loop() {
				if _, err := w.Play(Settings{Rule: rule, Share: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
