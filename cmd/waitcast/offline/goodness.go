package offline

import "github.com/waitcast/waitcast/workload/hypergamma"

// goodness measures how well a law fits values.
type goodness struct {
	KS             float64 `json:"ks"`
	KSSignificance float64 `json:"ks_significance"` // too optimistic, because the law was fitted to the same values
	Chi2           float64 `json:"chi2"`
	ChiClasses     int     `json:"chi2_classes"` // number of classes of equal probability
	Chi2Signif     float64 `json:"chi2_significance"`
}

// judge tests a law on values. It uses the KS test, and the chi2 test with classes that have equal probability under
// the law. With fewer than 2*chiExpected values it leaves out the chi2 test.
func judge(values []float64, cdf func(float64) float64) (goodness, error) {
	g := goodness{KS: hypergamma.KS(values, cdf)}
	g.KSSignificance = hypergamma.KSSignificance(g.KS, len(values))
	classes := min(ChiClasses, len(values)/chiExpected)
	if classes < 2 {
		return g, nil
	}
	observed, expected := make([]float64, classes), make([]float64, classes)
	for _, x := range values {
		observed[min(int(cdf(x)*float64(classes)), classes-1)]++
	}
	for i := range expected {
		expected[i] = float64(len(values)) / float64(classes)
	}
	var err error
	g.ChiClasses = classes
	g.Chi2, g.Chi2Signif, err = hypergamma.ChiSquared(observed, expected)
	return g, err
}

// These define how goodness of fit is measured.
const (
	ChiClasses       = 20  // maximum number of classes of equal probability
	chiExpected      = 5   // minimum expected count of a class; hypergamma.ChiSquared joins smaller classes
	subsampleSize    = 500 // the paper of Lublin and Feitelson uses 500 to 1,000 (section 5.1)
	subsampleRepeats = 100
)
