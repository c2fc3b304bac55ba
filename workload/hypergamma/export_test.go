package hypergamma

// PaperRuntimes returns the laws of ln runtime of the paper's Table 2 for all jobs of any
// size: its average model and the one found by search (section 5.2).
func PaperRuntimes() (average, search Law) {
	return Law{First: Gamma{4.2, .94}, Second: Gamma{312, .03}, P: .685},
		Law{First: Gamma{4, 1}, Second: Gamma{500, .02}, P: .7}
}
