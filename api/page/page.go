// Package page serves waitcast's web page. The page's files are embedded in the program, need no build step, and send
// requests only to the daemon that served them.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var files embed.FS //nolint:gochecknoglobals // what go:embed needs; nothing writes it

// policy is the Content-Security-Policy (W3C, level 3) of the page. It allows the page's own files and requests to its
// own server, but no inline script or style and no eval. The sites that may show the page in a frame are appended.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors "

// Policy returns the Content-Security-Policy of a page that uses only the page's own files. ancestors are the sites
// that may show it in a frame, in the form of the directive frame-ancestors.
func Policy(ancestors string) string { return policy + ancestors }

// Style is the path of the page's style sheet.
const Style = "/page/page.css"

// file is one file of the page, ready to be sent.
type file struct {
	body        []byte
	contentType string
	etag        string
}

// Handler serves the page at / and its files under /page/. Any other path gets a problem (RFC 9457) with status 404.
// ancestors returns the sites that may show the page in a frame, in the form of the directive frame-ancestors.
func Handler(ancestors func() string) http.Handler {
	all := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/page/")
		if r.URL.Path == "/" {
			name, ok = "index.html", true
		}
		f := all[name]
		if !ok || f == nil {
			notFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", Policy(ancestors()))
		f.send(w, r)
	})
}

// load reads the files, by their path under static.
func load() map[string]*file {
	out := map[string]*file{}
	// Reading an embedded file system cannot fail.
	_ = fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		out[strings.TrimPrefix(name, "static/")] = &file{body: body, contentType: contentType(name),
			etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
		return nil
	})
	return out
}

// contentType returns the media type of a file. It does not use the system's table of types, which may have another
// type for JavaScript.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "text/plain; charset=utf-8"
}

func (f *file) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache") // cached but revalidated, because another version of the daemon has other files
	h.Set("ETag", f.etag)
	h.Set("Content-Type", f.contentType)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}

func notFound(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusNotFound)
	body, err := json.Marshal(struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(http.StatusNotFound), http.StatusNotFound, "there is nothing at " + r.URL.Path})
	if err == nil {
		_, _ = w.Write(body) // the client may have disconnected
	}
}
