package access

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/wire"
)

const (
	// mungeSlots is the number of credentials that are decoded at a time; each needs a process.
	mungeSlots = 8
	// mungePatience is the maximum time for one credential: the wait for a slot, and unmunge.
	mungePatience = 2 * time.Second
	// mungeBadCredential is the first exit code of unmunge that concerns the credential: EMUNGE_BAD_CRED of munge.h.
	// Lower codes concern munged.
	mungeBadCredential = 8
	// mungeMost is the maximum length of a credential in bytes. A credential with the name of a host has about 200.
	mungeMost = 2048
)

// munge decodes credentials of munge (munge(7)) with the program unmunge, which uses the munged of this host. It is
// safe for concurrent use.
type munge struct {
	slots chan struct{} // semaphore: its holder may decode
}

func newMunge() *munge { return &munge{slots: make(chan struct{}, mungeSlots)} }

// mungeError means that a credential is not accepted.
type mungeError struct{ why string }

func (e *mungeError) Error() string { return "the munge credential is not valid: " + e.why }

// uid returns the uid of the user who made a credential for the server with the given name. munged itself checks that
// the credential belongs to its realm, has not expired, and was not decoded before on this host.
func (m *munge) uid(ctx context.Context, credential, host string) (uint32, error) {
	if len(credential) > mungeMost || !strings.HasPrefix(credential, "MUNGE:") || !strings.HasSuffix(credential, ":") {
		return 0, &mungeError{"it is none of the program munge"}
	}
	ctx, cancel := context.WithTimeout(ctx, mungePatience)
	defer cancel()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return 0, fmt.Errorf("unmunge: %w", ctx.Err())
	}
	cmd := exec.CommandContext(ctx, "unmunge", "--numeric", "--keys=UID")
	cmd.Stdin = strings.NewReader(credential)
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case ctx.Err() == nil && errors.As(err, &exit) && exit.ExitCode() >= mungeBadCredential:
		return 0, &mungeError{mungeReason(exit)}
	default:
		return 0, fmt.Errorf("unmunge: %w", err)
	}
	return parseUnmunged(out, host)
}

// mungeReason returns the reason why unmunge refuses a credential. For a credential that unmunge could decrypt, only
// the exit code shows the reason.
func mungeReason(exit *exec.ExitError) string {
	switch code := exit.ExitCode(); code {
	case 15:
		return "it has expired: make a new one, and compare the clocks of both hosts"
	case 16:
		return "it is from the future: compare the clocks of both hosts"
	case 17:
		return "it was sent before: make a new one for every request"
	default:
		return cmp.Or(strings.TrimPrefix(strings.TrimSpace(string(exit.Stderr)), "unmunge: Error: "),
			fmt.Sprintf("unmunge ends with %d", code))
	}
}

// parseUnmunged parses the output of unmunge: the uid, an empty line, and the text in the credential. The text must
// name this server. A credential that was made for another server or for another purpose is refused.
func parseUnmunged(out []byte, host string) (uint32, error) {
	head, payload, _ := bytes.Cut(out, []byte("\n\n"))
	value, found := strings.CutPrefix(strings.TrimSpace(string(head)), "UID:")
	uid, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
	if !found || err != nil {
		return 0, fmt.Errorf("unmunge: no uid in its output %q", head)
	}
	if want := wire.MungePayload(host); string(payload) != want {
		return 0, &mungeError{fmt.Sprintf("it was made for another server; the text in it must be %q", want)}
	}
	return uint32(uid), nil
}

// mungeHint describes how to get a credential that is accepted.
const mungeHint = "the command waitcast makes one by itself; others send \"Authorization: Munge CREDENTIAL\" with " +
	"the output of: munge --string='waitcast HOST', a new one for each request"

// ofMunge returns the caller who made a munge credential. If it cannot accept the credential, it answers the request
// and returns errAnswered.
func (g *Guard) ofMunge(w http.ResponseWriter, r *http.Request, credential string) (Caller, error) {
	client := clientName(clientOf(r, g.rules.Load().limits.Proxies))
	if wait := g.failures.exhausted(client); wait > 0 {
		g.slow(w, wait)
		return Caller{}, errAnswered
	}
	caller, err := g.unmunged(r, credential)
	var wrong *mungeError
	switch {
	case err == nil:
		return caller, nil
	case errors.As(err, &wrong):
		g.failures.allow(client)
		g.refuse(w, reasonCredential,
			&wire.Problem{Status: http.StatusUnauthorized, Detail: err.Error(), Hint: mungeHint})
	default:
		g.log.Error("a munge credential could not be decoded: is munged running on this host?", zap.Error(err))
		g.answer(w, &wire.Problem{
			Status: http.StatusServiceUnavailable, Detail: "munge does not answer where the daemon runs",
			Hint: "the daemon's log says more; a token or a password can be sent instead",
		})
	}
	return Caller{}, errAnswered
}

// unmunged returns the caller who made the credential of a request.
func (g *Guard) unmunged(r *http.Request, credential string) (Caller, error) {
	host := hostName(r.Host)
	if err := g.mungeProtected(r, host); err != nil {
		return Caller{}, err
	}
	uid, err := g.munge.uid(r.Context(), credential, host)
	if err != nil {
		return Caller{}, err
	}
	c, known := g.ofUID("munge user", uid)
	if !known {
		return Caller{}, &mungeError{fmt.Sprintf("the daemon's host has no user with the uid %d", uid)}
	}
	return c, nil
}

// mungeProtected returns nil if a munge credential may be sent on the connection of a request, otherwise the reason why
// not. On an unprotected connection others could read and use the credential. With TLS, the server's certificate must
// be valid for the host name that the client used, otherwise a credential made for another server could be used here.
func (g *Guard) mungeProtected(r *http.Request, host string) error {
	if r.TLS != nil {
		return g.mungeNamed(host)
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || from.Addr().Unmap().IsLoopback() { // a Unix socket has no address
		return nil
	}
	return &mungeError{"it came over plain HTTP from another host; it is taken over TLS, or on loopback"}
}

// mungeNamed returns nil if the server's certificate is valid for a host, otherwise the reason why not.
func (g *Guard) mungeNamed(host string) error {
	config := g.webConfig().tls
	if config == nil || len(config.Certificates) == 0 {
		return &mungeError{"the server has no certificate"}
	}
	if err := config.Certificates[0].Leaf.VerifyHostname(host); err != nil {
		return &mungeError{"the server was asked by a name that its certificate does not have: " + err.Error()}
	}
	return nil
}

// hostName returns the host part of an address in lower case, without port and without the brackets of IPv6.
func hostName(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return strings.ToLower(host)
}
