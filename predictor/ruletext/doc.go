// Package ruletext says in words what the engine learnt of the rules by which a scheduler starts jobs, with the
// evidence. It says only what the evidence bears: an order that forecasts waits better than first come, first served,
// and times of the week at which clearly fewer jobs start.
package ruletext
