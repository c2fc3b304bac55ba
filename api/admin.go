package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/waitcast/waitcast/api/wire"
)

// Admin is what only an administrator may ask for: those who know the token.
type Admin struct {
	// Token is what a request must carry as "Authorization: Bearer TOKEN". It is never empty where admin access is wanted: with an empty one
	// nobody has it.
	Token string
	// Import takes in a log of the past.
	Import ImportFunc
	// Quarantine lists lines that could not be used.
	Quarantine QuarantineFunc
	// LogLevel is how much is logged; without it that path is not there.
	LogLevel LogLevel
}

// Refused is an error by which a function of Admin says that it cannot do what was asked: it becomes the answer.
type Refused struct {
	// Status is that of HTTP.
	Status int
	// Detail is the cause, Hint what would help; in words.
	Detail, Hint string
}

// Error implements error.
func (e *Refused) Error() string { return e.Detail }

func (e *Refused) problem() *problem {
	return &problem{wire.Problem{
		Type: "about:blank", Title: http.StatusText(e.Status), Status: e.Status, Detail: e.Detail, Hint: e.Hint,
	}}
}

// adminScheme names the token in the OpenAPI description.
const adminScheme = "adminToken"

// adminOnly marks an operation in the OpenAPI description.
func adminOnly() []map[string][]string { return []map[string][]string{{adminScheme: {}}} }

func describeAdmin(doc *huma.OpenAPI) {
	if doc.Components.SecuritySchemes == nil {
		doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{}
	}
	doc.Components.SecuritySchemes[adminScheme] = &huma.SecurityScheme{
		Type: "http", Scheme: "bearer", Description: "the content of the daemon's admin_token_file",
	}
}

// authorize returns why a request with this Authorization header (RFC 6750, section 2.1) is no administrator's, nil if it is one's. Nothing
// else but that header is looked at: a browser does not send it by itself, as it does with cookies, to a daemon on loopback.
func (s *Server) authorize(authorization string) *problem {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	want, got := sha256.Sum256([]byte(s.opts.Admin.Token)), sha256.Sum256([]byte(strings.TrimSpace(token)))
	same := subtle.ConstantTimeCompare(want[:], got[:]) == 1 // hashes: their lengths tell nothing
	if same && s.opts.Admin.Token != "" {
		return nil
	}
	detail := "the token is not that of this daemon"
	if token == "" {
		detail = "this needs the daemon's admin token"
	}
	return (&Refused{
		Status: http.StatusUnauthorized, Detail: detail,
		Hint: "send \"Authorization: Bearer TOKEN\" with the content of the daemon's admin_token_file (admin-token in its data_dir); " +
			"the command waitcast reads it by --token-file or WAITCAST_TOKEN_FILE",
	}).problem()
}

// admin lets a plain handler be used by administrators only.
func (s *Server) admin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := s.authorize(r.Header.Get("Authorization")); p != nil {
			writeProblem(w, p)
			return
		}
		next(w, r)
	}
}

// adminOperation does the same for an operation of huma, ahead of the check of its parameters.
func (s *Server) adminOperation(ctx huma.Context, next func(huma.Context)) {
	if p := s.authorize(ctx.Header("Authorization")); p != nil {
		_, w := humago.Unwrap(ctx)
		writeProblem(w, p)
		return
	}
	next(ctx)
}

// writeProblem answers with a problem.
func writeProblem(w http.ResponseWriter, p *problem) {
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="waitcast"`)
	}
	body, err := json.Marshal(p.Problem)
	if err != nil { // it is strings and numbers
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // its end shows before the request's is read
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client may be gone
}
