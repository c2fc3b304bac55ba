package collector

import "strings"

// ReservationQueue is the one queue under which the queues of all reservations are counted. A PBS server creates a
// queue for each reservation and removes it afterwards, so the number of names would grow without bound.
const ReservationQueue = "reservation"

// IsReservationQueue reports whether a queue belongs to a PBS reservation: R (advance), S (standing) or M (maintenance)
// and a number, with or without the server behind a dot.
func IsReservationQueue(name string) bool {
	name, server, dotted := strings.Cut(name, ".")
	if len(name) < 2 || !strings.Contains("RSM", name[:1]) || dotted && server == "" {
		return false
	}
	return strings.Trim(name[1:], "0123456789") == ""
}
