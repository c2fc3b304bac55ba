package swf

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// Header has the content of the lines that start with ';'. A field is zero if the header does not have it.
type Header struct {
	UnixStartTime int64 // instant of the submit time 0, in seconds since 1970 UTC
	MaxProcs      int64 // processors of the machine
	// Nodes: the number at the beginning of a value such as "338 (batch partition; 512 total)".
	MaxNodes       int64
	TimeZone       int64            // seconds that are added to UTC to get local time, without daylight saving
	TimeZoneString string           // name of the zone in the IANA database, such as "Europe/Stockholm"
	Queues         map[int64]string // names by number, from lines such as "; Queue: 3 normal"
	Partitions     map[int64]string // names by number, from lines such as "; Partition: 1 batch"
	Lines          []string         // all other lines in order, from the ';' on, without the line end
}

// ParseLine adds one header line, with or without the ';' at its beginning and the line end. If Header has a field
// for the key of the line, ParseLine sets the field; of several lines with the same key the last counts. Every other
// line is kept in Lines. If the value is not valid for its key, ParseLine returns a *HeaderError and keeps the line
// in Lines too.
func (h *Header) ParseLine(line []byte) error {
	text := strings.TrimRight(string(line), " \t\r\n")
	text = strings.TrimLeft(text, " \t")
	body := strings.TrimPrefix(text, ";")
	key, value, found := strings.Cut(body, ":")
	if found {
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		known, err := h.set(key, value)
		if known && err == nil {
			return nil
		}
		h.keep(text)
		return err
	}
	h.keep(text)
	return nil
}

func (h *Header) keep(text string) {
	if !strings.HasPrefix(text, ";") {
		text = ";" + text
	}
	h.Lines = append(h.Lines, text)
}

// set stores the value of a key for which Header has a field.
func (h *Header) set(key, value string) (known bool, err error) {
	switch key {
	case "UnixStartTime":
		err = setNumber(&h.UnixStartTime, key, value, math.MinInt64)
	case "MaxProcs":
		err = setNumber(&h.MaxProcs, key, value, Unknown)
	case "MaxNodes":
		err = setNumber(&h.MaxNodes, key, value, Unknown)
	case "TimeZone":
		err = setNumber(&h.TimeZone, key, value, math.MinInt64)
	case "TimeZoneString":
		h.TimeZoneString = value
	case "Queue":
		return setName(&h.Queues, key, value)
	case "Partition":
		return setName(&h.Partitions, key, value)
	default:
		return false, nil
	}
	return true, err
}

// setNumber reads the number at the beginning of value, which a blank or a parenthesis ends. It stores Unknown as 0.
func setNumber(to *int64, key, value string, least int64) error {
	word := value
	if i := strings.IndexAny(value, " \t("); i >= 0 {
		word = value[:i]
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < least {
		return &HeaderError{Key: key, Value: shorten([]byte(value)), Want: "a whole number first"}
	}
	if n == Unknown && least == Unknown {
		n = 0
	}
	*to = n
	return nil
}

// setName reads "number name". A number without a name names no queue.
func setName(to *map[int64]string, key, value string) (known bool, err error) {
	word, name := value, ""
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		word, name = value[:i], strings.TrimSpace(value[i:])
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		return true, &HeaderError{Key: key, Value: shorten([]byte(value)), Want: "a number and a name"}
	}
	if name == "" {
		return false, nil
	}
	if *to == nil {
		*to = make(map[int64]string)
	}
	(*to)[n] = name
	return true, nil
}

// DefaultQueue is the queue of a job whose record has neither a queue nor a partition.
const DefaultQueue = "default"

// QueueName returns the queue in which a job waited. That is the name of its queue (field 15), or the number as text
// if the header does not name the queue. If the queue is unknown (negative), the partition (field 16) is used in the
// same way. If both are unknown, it returns DefaultQueue.
func (h *Header) QueueName(r *Record) string {
	if r.Queue >= 0 {
		return nameOf(h.Queues, r.Queue)
	}
	if r.Partition >= 0 {
		return nameOf(h.Partitions, r.Partition)
	}
	return DefaultQueue
}

func nameOf(names map[int64]string, n int64) string {
	if name, ok := names[n]; ok {
		return name
	}
	return strconv.FormatInt(n, 10)
}

// Location returns the machine's time zone. That is TimeZoneString if this system knows the zone, or else the fixed
// offset TimeZone, or else UTC.
func (h *Header) Location() *time.Location {
	if h.TimeZoneString != "" && h.TimeZoneString != "Local" {
		if loc, err := time.LoadLocation(h.TimeZoneString); err == nil {
			return loc
		}
	}
	const day = 24 * 60 * 60
	if h.TimeZone == 0 || h.TimeZone <= -day || h.TimeZone >= day {
		return time.UTC
	}
	return time.FixedZone(h.TimeZoneString, int(h.TimeZone))
}

// Start returns the instant of submit time 0 in the machine's time zone.
func (h *Header) Start() time.Time { return time.Unix(h.UnixStartTime, 0).In(h.Location()) }

// isHeader reports whether a line belongs to the header.
func isHeader(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && line[0] == ';'
}
