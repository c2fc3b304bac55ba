package study

// ID returns the identity of the study, which is the first column of its CSV.
func (p *Plan) ID() string { return p.id }
