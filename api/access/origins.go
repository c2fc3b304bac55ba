package access

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rs/cors"
)

// preflightAge is how long a browser may cache the answer to a preflight request.
const preflightAge = 10 * time.Minute

// origins has the rules for the sites whose pages may send requests to the daemon, and show the daemon's page in a
// frame.
type origins struct {
	// cross refuses requests from pages of all other sites.
	cross *http.CrossOriginProtection
	// cors sets the CORS headers for the pages of these sites (Fetch standard, section 3.3); nil for none.
	cors *cors.Cors
	// ancestors is the value of the directive frame-ancestors.
	ancestors string
}

// newOrigins returns the rules for sites such as https://ondemand.example.org.
func newOrigins(sites []string) (*origins, error) {
	o := &origins{cross: http.NewCrossOriginProtection(), ancestors: "'none'"}
	for _, site := range sites {
		if err := o.cross.AddTrustedOrigin(site); err != nil {
			return nil, fmt.Errorf("%q: %w", site, err)
		}
	}
	if len(sites) == 0 {
		return o, nil
	}
	o.ancestors = "'self' " + strings.Join(sites, " ")
	o.cors = cors.New(cors.Options{
		AllowedOrigins: sites, AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"Authorization", "Content-Type", "If-None-Match"},
		ExposedHeaders: []string{"ETag", "Retry-After"}, MaxAge: int(preflightAge.Seconds()),
		AllowPrivateNetwork: true, // such a site may be public while the daemon is in a private network
	})
	return o, nil
}

// answer sets the headers by which a browser lets a page of another site read the answer. If the request is a preflight
// request, answer also answers it, and returns true.
func (o *origins) answer(w http.ResponseWriter, r *http.Request) bool {
	if o.cors == nil {
		return false
	}
	o.cors.HandlerFunc(w, r)
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// Ancestors returns the sites that may show the daemon's page in a frame, as the directive frame-ancestors of a
// Content-Security-Policy (W3C, level 3) names them.
func (g *Guard) Ancestors() string { return g.rules.Load().origins.ancestors }
