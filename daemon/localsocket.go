package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
)

// localSocket is a Unix socket on which the daemon answers requests. The kernel reports the user of each caller. The
// socket uses plain HTTP and exists as long as the daemon. Each request uses the core that is in use at that time.
type localSocket struct {
	path    string
	socket  *net.UnixListener
	server  *http.Server
	serving sync.WaitGroup
}

// openLocal opens the configured socket, if there is one.
func (d *Daemon) openLocal(ctx context.Context) error {
	if d.cfg.Socket == "" {
		return nil
	}
	l, err := listenLocal(ctx, d.cfg)
	if err != nil {
		return err
	}
	guard, err := access.New(access.Options{Log: d.opts.Log}) // without TLS
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server, err := newServer(d.handler(), guard, d.opts.Log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s := &localSocket{path: d.cfg.Socket, socket: l, server: server}
	d.bound.Attach(s.server)
	d.local = s
	s.serving.Go(func() {
		if err := s.server.Serve(d.bound.Bound(l)); !errors.Is(err, http.ErrServerClosed) {
			d.fail(fmt.Errorf("serving HTTP on %s: %w", s.path, err))
		}
	})
	if mapped, err := os.ReadFile("/proc/self/uid_map"); err == nil && !mapsAllUsers(string(mapped)) {
		d.opts.Log.Warn("the daemon runs in a user namespace that does not have all users: those that it lacks are "+
			"nobody on the socket; PrivateUsers=no in the systemd unit gives it all", zap.String("socket", s.path))
	}
	return nil
}

// mapsAllUsers reports whether a uid_map (user_namespaces(7)) maps every uid to itself.
func mapsAllUsers(text string) bool {
	fields := strings.Fields(text)
	return len(fields) == 3 && fields[0] == "0" && fields[1] == "0" && fields[2] == "4294967295"
}

// closeLocal stops answering on the socket and removes its file.
func (d *Daemon) closeLocal() error {
	s := d.local
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	err := s.server.Shutdown(ctx)
	s.serving.Wait()
	if gone := os.Remove(s.path); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	d.local = nil
	return err
}

// listenLocal creates a socket with the configured mode. It creates the socket in a hidden folder that only the daemon
// can enter, and moves it when the mode is set, so callers never see another mode. It replaces a socket that a killed
// daemon left behind.
func listenLocal(ctx context.Context, cfg *config.Config) (*net.UnixListener, error) {
	mode, err := strconv.ParseUint(cfg.SocketMode, 8, 32)
	if err != nil {
		return nil, fmt.Errorf("socket_mode: %w", err)
	}
	info, err := os.Lstat(cfg.Socket)
	switch {
	case err == nil && info.Mode().Type() != os.ModeSocket:
		return nil, fmt.Errorf("%s exists and is not a socket; choose another path with socket", cfg.Socket)
	case err == nil && answers(ctx, cfg.Socket):
		return nil, fmt.Errorf("another program answers on %s; choose another path with socket", cfg.Socket)
	}
	hidden, err := os.MkdirTemp(filepath.Dir(cfg.Socket), ".socket-")
	if err != nil {
		return nil, fmt.Errorf(
			"the folder of the socket (RuntimeDirectory=waitcast of systemd makes /run/waitcast): %w", err)
	}
	defer os.Remove(hidden) //nolint:errcheck // it is empty
	first := filepath.Join(hidden, "s")
	var lc net.ListenConfig
	opened, err := lc.Listen(ctx, "unix", first)
	if err != nil {
		return nil, err
	}
	l := opened.(*net.UnixListener)
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(first, os.FileMode(mode)), os.Rename(first, cfg.Socket)); err != nil {
		return nil, errors.Join(err, os.Remove(first), l.Close())
	}
	return l, nil
}

// answers reports whether a program listens on a socket.
func answers(ctx context.Context, path string) bool {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
