package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/pipeline"
)

// tag returns the ETag (RFC 9110, section 8.8.3) of an answer made from views: weak, because age_seconds is another one at every request. It tells this process,
// the events behind the views, and whether they are stale. A forecast depends on the clock too: its second.
func (s *Server) tag(clock bool, views ...*pipeline.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, `W/"%x`, s.born)
	for _, v := range views {
		_, _, stale := s.asOf(v)
		fmt.Fprintf(&b, "-%d", v.Seq)
		if stale {
			b.WriteByte('s')
		}
	}
	if clock {
		fmt.Fprintf(&b, "-%d", s.opts.Now().Unix())
	}
	b.WriteByte('"')
	return b.String()
}

// unchanged returns the error that makes huma answer 304 if the request's If-None-Match has the tag.
func unchanged(ifNoneMatch, tag string) error {
	has := func(have string) bool {
		have = strings.TrimSpace(have)
		return have == "*" || strings.TrimPrefix(have, "W/") == strings.TrimPrefix(tag, "W/")
	}
	if ifNoneMatch == "" || !slices.ContainsFunc(strings.Split(ifNoneMatch, ","), has) {
		return nil
	}
	return huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"ETag": {tag}})
}
