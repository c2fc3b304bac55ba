package main

import (
	"strconv"
	"time"
)

// inMillis returns a duration as Go writes it in milliseconds; what is none stays, and is refused as a number later.
func inMillis(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(d.Seconds()*1e3, 'g', 5, 64)
}
