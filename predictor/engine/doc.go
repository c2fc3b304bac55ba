// Package engine forecasts the whole wait of a job, from its submission to its start, and learns from every start: it
// follows the submits, starts and ends of one cluster, turns the moment of each submission into a row of features,
// trains quantile trees on the rows whose waits are known, asks the other experts as well, combines all of them by how
// well each has done, and corrects what it serves until each level covers what it says.
//
// Time is in seconds since any fixed instant and never goes back. At one instant the caller passes ends first, then
// submits, then starts: a start at the very instant of a submit is not known to it.
//
// # Serving
//
// A [View] is the engine's state at an instant. It answers any request as a submission then would be answered, to the
// last bit, from any number of goroutines, also when the engine has gone on, and can be saved. Views share what did not
// change in between. Jobs of a pool with up to 300 jobs are played forward for each request; of a larger one tables of
// every size and limit are made now and then, by a rule in events and event time, and looked up.
//
// # Changes
//
// After a downtime, with other limits or queues, what was learnt before is worth less. Changes are looked for in the
// engine's input and in the scores of its forecasts ([Engine.Drifts]), and after one it learns faster for a while,
// unless [Config] says that it is to be steady.
//
// # The same events, the same forecasts
//
// What takes long, training trees and making tables, is done in the background and comes into force at an event that is
// fixed when it begins; if it is not done by then, the caller waits. So forecasts depend on the engine's input alone:
// not on how fast the machine is, whether views are taken, or how often the engine was saved and restored in between.
package engine
