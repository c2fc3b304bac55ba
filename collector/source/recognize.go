package source

import "github.com/waitcast/waitcast/collector"

// Recognize returns the names of the formats that find events of jobs in the given lines and accept more than half of
// the lines. The format that finds the most events comes first.
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
