package rules

// CompareJobs returns the comparison of the jobs of one situation.
func CompareJobs(s *Situation, p *Priority) Evidence {
	var e Evidence
	e.overtakes(s, p)
	return e
}
