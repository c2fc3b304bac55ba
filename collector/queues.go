package collector

import "strings"

// ReservationQueue is the name under which the queues of all reservations are one. A PBS server makes a queue for each
// reservation and removes it afterwards, so that their names never end.
const ReservationQueue = "reservation"

// IsReservationQueue reports whether a queue is that of a PBS reservation: R (advance), S (standing) or M (maintenance)
// and a number, with or without the server behind a dot.
func IsReservationQueue(name string) bool {
	name, server, dotted := strings.Cut(name, ".")
	if len(name) < 2 || !strings.Contains("RSM", name[:1]) || dotted && server == "" {
		return false
	}
	return strings.Trim(name[1:], "0123456789") == ""
}
