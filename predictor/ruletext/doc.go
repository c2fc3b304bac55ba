// Package ruletext describes in words the learnt rules by which a scheduler starts jobs, with the evidence. It includes
// only rules that the evidence supports: an order that forecasts waits better than first come, first served, and times
// of the week at which clearly fewer jobs start.
package ruletext
