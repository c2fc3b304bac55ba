// Package engine forecasts the whole wait of a job, from its submission to its start, and learns from every start. It
// follows the submissions, starts and ends of one cluster, and computes a row of features at each submission. It
// trains quantile trees on the rows with known waits, and combines the trees with other experts by their past
// accuracy. It corrects the result so that each level covers the promised share of waits.
//
// Time is in seconds since any fixed instant and never goes back. At one instant the caller passes ends first, then
// submits, then starts: a submission does not see a start at its own instant.
//
// # Serving
//
// A [View] is the engine's state at an instant. For any request it gives the same forecast, to the last bit, as a
// submission at that instant would get. It is safe for concurrent use while the engine continues, and can be saved.
// Views share unchanged data. A pool with up to 300 jobs is simulated for each request. For a larger pool, the engine
// makes tables for all sizes and limits at certain numbers of events and event times. Forecasts are then looked up in
// these tables.
//
// # Changes
//
// After a downtime, or with other limits or queues, earlier learning is worth less. The engine detects such changes
// in its input and in the scores of its forecasts ([Engine.Drifts]). After a change it learns faster for a while,
// unless [Config.Steady] is set.
//
// # The same events, the same forecasts
//
// Training of trees and making of tables take long and run in the background. When such work begins, the event is
// fixed at which its results take effect. If the work is not finished by then, the caller waits. So forecasts depend
// only on the engine's input. They do not depend on the speed of the machine, on views, or on saves and restores.
package engine
