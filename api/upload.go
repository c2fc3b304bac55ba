package api

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"

	"github.com/waitcast/waitcast/api/ask"
)

const (
	// formMedia is the type of a body with several files, filePart the name of its parts.
	formMedia = "multipart/form-data"
	filePart  = "file"
)

// upload returns the files of a request's body as they arrive.
type upload struct {
	body  *idleTimeoutReader
	total int64
	next  func() (name string, from io.ReadCloser, err error)
	cut   error // set if a part or the form lacks its end
}

// newUpload returns the files of a body: its parts if it is a form, else the body itself. It refuses an unknown
// Content-Encoding, and any Content-Encoding of a form.
func newUpload(r *http.Request, body *idleTimeoutReader) (*upload, error) {
	u := &upload{body: body, total: max(0, r.ContentLength)}
	encoding := r.Header.Get("Content-Encoding")
	// The header may be missing or wrong; the compression of a log is recognized by its content.
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == formMedia && (params["boundary"] == "" || encoding != "" && encoding != "identity"):
		return nil, &Refused{Status: http.StatusUnsupportedMediaType,
			Detail: "a form needs a boundary, and no Content-Encoding", Hint: "compress its files, one by one"}
	case kind == formMedia:
		u.next = u.parts(params["boundary"])
	case !slices.Contains([]string{"", "identity", "gzip", "x-gzip", "zstd"}, encoding):
		return nil, &Refused{Status: http.StatusUnsupportedMediaType,
			Detail: fmt.Sprintf("Content-Encoding %q is not known", encoding), Hint: "send it plain, gzip or zstd"}
	default:
		u.next = u.whole(r.URL.Query().Get("name"))
	}
	return u, nil
}

// whole returns the function upload.next for a body that is one file.
func (u *upload) whole(name string) func() (string, io.ReadCloser, error) {
	if name == "" {
		name = "import"
	}
	done := false
	return func() (string, io.ReadCloser, error) {
		if done {
			return "", nil, io.EOF
		}
		done = true
		return name, io.NopCloser(u.body), nil
	}
}

// parts returns the function upload.next for a body that is a form. Each part is a file.
func (u *upload) parts(boundary string) func() (string, io.ReadCloser, error) {
	end := lastBytes{from: u.body}
	form := multipart.NewReader(&end, boundary)
	return func() (string, io.ReadCloser, error) {
		part, err := form.NextRawPart()
		if err != nil {
			// The form's reader takes the end of the body for the end of the form, even without the closing boundary.
			if !errors.Is(err, io.EOF) || !bytes.Contains(end.kept, []byte("--"+boundary+"--")) {
				u.cut = cmp.Or(u.cut, io.ErrUnexpectedEOF)
			}
			return "", nil, io.EOF
		}
		// The method FileName is not used, because it leaves out the folder.
		_, names, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		name := names["filename"]
		switch {
		case err != nil || names["name"] != filePart:
			return "", nil, ask.Invalid(part.FormName(), "unknown part of the form; files are parts named "+filePart)
		case name == "":
			name = "import"
		case len(name) > maxText:
			return "", nil, ask.Invalid(filePart, fmt.Sprintf("its name is longer than %d bytes", maxText))
		}
		return name, &uploadedPart{u, part}, nil
	}
}

// lastBytes keeps the last bytes that were read: the end of a form, and bytes that may follow it.
type lastBytes struct {
	from io.Reader
	kept []byte
}

// endBytes is the number of kept bytes: a boundary has at most 70.
const endBytes = 512

// Read implements io.Reader.
func (l *lastBytes) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	l.kept = append(l.kept, p[:n]...)
	if over := len(l.kept) - endBytes; over > 0 {
		l.kept = append(l.kept[:0], l.kept[over:]...)
	}
	return n, err
}

// uploadedPart is one file of a form. Its reader sets upload.cut if the part has no end.
type uploadedPart struct {
	of *upload
	*multipart.Part
}

// Read implements io.Reader.
func (p *uploadedPart) Read(b []byte) (int, error) {
	n, err := p.Part.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		p.of.cut = err
	}
	return n, err
}

// Next implements ImportFiles.
func (u *upload) Next() (name string, from io.ReadCloser, err error) { return u.next() }

// Failed implements ImportFiles.
func (u *upload) Failed() error {
	if u.body.failed != nil {
		return u.body.failed
	}
	return u.cut
}

// Read implements ImportFiles.
func (u *upload) Read() int64 { return u.body.bytes.Load() }

// Total implements ImportFiles.
func (u *upload) Total() int64 { return u.total }

// Abort implements ImportFiles.
func (u *upload) Abort() { u.body.abort() }
