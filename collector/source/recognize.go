package source

import "github.com/waitcast/waitcast/collector"

// Recognize returns the names of the formats that find events of jobs in some lines of a log, and do not refuse half of
// them or more; the one that finds most comes first.
func Recognize(lines [][]byte, options collector.Options, formats []collector.Format) []string {
	d := detector{cfg: &Config{Options: options}, sample: lines}
	var names []string
	most := 0
	for _, f := range formats {
		if f.New == nil {
			continue
		}
		n := d.readBy(f)
		switch {
		case n == 0:
		case n > most:
			names, most = append([]string{f.Name}, names...), n
		default:
			names = append(names, f.Name)
		}
	}
	return names
}
