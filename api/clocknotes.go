package api

import (
	"fmt"
	"strings"
	"time"
)

// clockNotes returns a line for each source whose clock is off or of which records are set aside.
func (s *Server) clockNotes() string {
	var b strings.Builder
	for _, v := range s.views.Views() {
		for _, src := range v.Sources {
			if src.ClockOffset != 0 {
				fmt.Fprintf(&b, "clock_offset: source %s: its times are %s ahead of this host's clock, and are corrected by that\n", src.Name, src.ClockOffset)
			}
			if src.SetAside > 0 {
				fmt.Fprintf(&b, "set_aside: source %s: %d events are dated ahead of the clock, the first is used at %s\n",
					src.Name, src.SetAside, src.SetAsideUntil.Format(time.RFC3339))
			}
		}
	}
	return b.String()
}
