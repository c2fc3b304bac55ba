// Package rules learns how a scheduler orders its starts, from the starts alone. It learns a priority, fitted by the
// loss of the resulting forecasts, and gates: times of the week at which long jobs do not start. It also has the
// portfolio of fixed orders. The waits under these orders are features of forecasts.
package rules
