package track

import (
	"math"
	"strconv"
	"strings"
)

// Place is one of several queues in which a job may start.
type Place struct {
	Queue string
	// Above is the amount by which the job's priority in the queue exceeds Request.Priority.
	Above int64
}

// MostPlaces is the maximum number of queues in which a request is forecast.
const MostPlaces = 16

// JoinPlaces returns the form of places in Request.Queues: of the first MostPlaces. It is empty for a single place.
func JoinPlaces(places []Place) string {
	if len(places) < 2 {
		return ""
	}
	places = places[:min(len(places), MostPlaces)]
	out := make([]string, len(places))
	for i, p := range places {
		out[i] = p.Queue + ":" + strconv.FormatInt(p.Above, 10)
	}
	return strings.Join(out, ",")
}

// Places returns the queues in which the job may start; nil if it requested one queue.
func (r *Request) Places() []Place {
	if r.Queues == "" {
		return nil
	}
	var out []Place
	for text := range strings.SplitSeq(r.Queues, ",") {
		at := strings.LastIndexByte(text, ':')
		if at < 0 {
			return nil
		}
		above, err := strconv.ParseInt(text[at+1:], 10, 64)
		if err != nil {
			return nil
		}
		out = append(out, Place{text[:at], above})
	}
	return out
}

// In returns the request as it is in one place alone.
func (r *Request) In(p Place) Request {
	out := *r
	out.Queue, out.Queues = p.Queue, ""
	if out.Priority > 0 {
		out.Priority = math.Max(1, out.Priority+float64(p.Above))
	}
	return out.Clean()
}
