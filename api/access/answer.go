package access

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// setHeaders sets the headers of every answer; a handler may overwrite them. They make a browser trust the content
// type, send no referrer to other sites, refuse pages of other sites that embed the answer, and run no scripts of the
// answer. They also declare that answers vary with the caller. The headers in more, which the web-config file has,
// replace them; a header Strict-Transport-Security among these is used only over TLS.
func setHeaders(h http.Header, r *http.Request, more map[string]string) {
	values := [...]string{"nosniff", "no-referrer", "same-origin", "default-src 'none'; frame-ancestors 'none'",
		"Authorization"}
	// The names have the form of http.CanonicalHeaderKey.
	for i, name := range [...]string{
		"X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Content-Security-Policy", "Vary",
	} {
		h[name] = values[i : i+1 : i+1]
	}
	if r.TLS != nil {
		// RFC 6797; one day, and without subdomains
		h.Set("Strict-Transport-Security", "max-age=86400")
	}
	for name, value := range more {
		if name != "Strict-Transport-Security" || r.TLS != nil {
			h.Set(name, value)
		}
	}
}

// refuse counts a refusal by its reason, and answers the request with the problem.
func (g *Guard) refuse(w http.ResponseWriter, reason string, p *wire.Problem) {
	g.metrics.refused.WithLabelValues(reason).Inc()
	g.answer(w, p)
}

// Refuse answers with the problem that Need or MayAskAs returned. It counts the refusal if its status is 401 or 403.
func (g *Guard) Refuse(w http.ResponseWriter, p *wire.Problem) {
	switch p.Status {
	case http.StatusUnauthorized:
		g.refuse(w, reasonMissing, p)
	case http.StatusForbidden:
		g.refuse(w, reasonRole, p)
	default:
		g.answer(w, p)
	}
}

// Challenges returns the values of the WWW-Authenticate header of a 401.
func (g *Guard) Challenges() []string {
	out := []string{`Bearer realm="waitcast"`}
	if len(g.webConfig().users) > 0 {
		out = append(out, `Basic realm="waitcast", charset="UTF-8"`)
	}
	if g.rules.Load().policy.Munge {
		out = append(out, wire.MungeScheme+` realm="waitcast"`)
	}
	return out
}

// slow refuses a request because its client sends too many.
func (g *Guard) slow(w http.ResponseWriter, retry time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(max(1, math.Ceil(retry.Seconds())))))
	g.refuse(w, reasonRate, &wire.Problem{Status: http.StatusTooManyRequests, Detail: "this client asks too much",
		Hint: "ask again after the time of Retry-After; limits.requests_per_second and limits.burst bound it"})
}

func (g *Guard) answer(w http.ResponseWriter, p *wire.Problem) {
	if p.Status == http.StatusUnauthorized {
		w.Header()["Www-Authenticate"] = g.Challenges()
	}
	WriteProblem(w, p)
}

// WriteProblem answers with a problem document (RFC 9457).
func WriteProblem(w http.ResponseWriter, p *wire.Problem) {
	told := *p
	if told.Type == "" {
		told.Type = wire.ProblemType(told.Status)
	}
	if told.Title == "" {
		told.Title = http.StatusText(told.Status)
	}
	body, err := json.Marshal(told)
	if err != nil { // cannot happen: a problem has only strings and numbers
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // the client may see the end before its request is read
	w.WriteHeader(told.Status)
	_, _ = w.Write(body) // the client may have disconnected
}
