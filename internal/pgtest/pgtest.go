// Package pgtest starts private PostgreSQL servers for tests. A server has a folder of its own with a Unix socket, and
// needs no password. Server.Stop removes the folder.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// startTimeout is the maximum time until a server answers, including its recovery after a kill.
const startTimeout = 5 * time.Minute

// ErrMissing means that the programs of a PostgreSQL server are not installed.
var ErrMissing = errors.New("PostgreSQL server programs missing (postgres and initdb, in PATH or /usr/lib/postgresql)")

// Options define how a server is started.
type Options struct {
	// Fsync makes the server sync its writes to the disk. Tests that kill only the server's processes do not need it,
	// because the kernel keeps the written data.
	Fsync bool
	// Dir is the folder in which the server's folder is created; "" means the system's temporary folder.
	Dir string
	// Settings are further settings of the server ("max_connections": "20").
	Settings map[string]string
}

// Server is a running PostgreSQL server.
type Server struct {
	dir, bin string
	opts     Options
	owner    *syscall.Credential

	mu        sync.Mutex
	process   *os.Process
	exited    chan struct{}
	databases int
}

// Start creates a new server and waits until it answers. If the caller is root, the server runs as the user postgres,
// because PostgreSQL refuses to run as root.
func Start(opts Options) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(opts.Dir, "pgtest-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, opts: opts}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// binaries returns the folder of the server programs in PATH or, if there are none, of the newest version in
// /usr/lib/postgresql.
func binaries() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", ErrMissing
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 if it is no number
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

func (s *Server) create() error {
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMissing, err)
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return err
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			return err
		}
		s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return err
		}
	}
	cmd := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C",
		"--data-checksums")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	// The test's context is not used, because Stop ends the server.
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	return cmd
}

// Start starts the server, for the first time or again after Kill, and waits until it answers.
func (s *Server) Start() error {
	onOff := map[bool]string{true: "on", false: "off"}[s.opts.Fsync]
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=" + onOff, "-c",
		"full_page_writes=" + onOff}
	for key, value := range s.opts.Settings {
		args = append(args, "-c", key+"="+value)
	}
	log, err := os.OpenFile(s.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has a descriptor of its own
	cmd := s.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // the server ends if the test dies
	started, exited := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the signal is sent when this thread ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the log has the reason why the server ended
		}
		close(exited)
	}()
	if err := <-started; err != nil {
		return err
	}
	s.mu.Lock()
	s.process, s.exited = cmd.Process, exited
	s.mu.Unlock()
	return s.answering(exited)
}

// answering waits until the server answers.
func (s *Server) answering(exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-exited:
			return fmt.Errorf("the server ended: %s", s.tail())
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w\n%s", err, s.tail())
		case <-tick.C:
		}
	}
}

// LogPath returns the path of the server's log.
func (s *Server) LogPath() string { return filepath.Join(s.dir, "log") }

func (s *Server) tail() string {
	log, err := os.ReadFile(s.LogPath())
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-2000):])
}

// URL returns the address of a database of the server.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir}, "user": {"postgres"}, "sslmode": {"disable"}}.Encode()}
	return u.String()
}

// NewDatabase creates a new database and returns its address.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	s.mu.Unlock()
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	return s.URL(name)
}

// Exec runs statements in a database.
func (s *Server) Exec(t testing.TB, database string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }() // an error does not matter any more
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Kill kills every process of the server (SIGKILL) and waits until they have ended. It does nothing if the server does
// not run. Start can start the server again.
func (s *Server) Kill() error {
	s.mu.Lock()
	process, exited := s.process, s.exited
	s.process = nil
	s.mu.Unlock()
	if process == nil {
		return nil
	}
	if err := process.Signal(syscall.SIGSTOP); err != nil { // the stopped process cannot start further child processes
		return err
	}
	children := childrenOf(process.Pid)
	if err := process.Kill(); err != nil {
		return err
	}
	for _, pid := range children {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	<-exited
	deadline := time.After(startTimeout)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for slices.ContainsFunc(children, running) {
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("the processes %v do not end", children)
		}
	}
	return nil
}

// running reports whether a process has not ended. An ended process may stay in the list as a zombie until the first
// process of the system collects it.
func running(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// childrenOf returns the child processes of a process.
func childrenOf(pid int) []int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var children []int
	for field := range strings.FieldsSeq(string(data)) {
		if n, err := strconv.Atoi(field); err == nil {
			children = append(children, n)
		}
	}
	return children
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	s.mu.Lock()
	process, exited := s.process, s.exited
	s.process = nil
	s.mu.Unlock()
	var err error
	if process != nil {
		if err = process.Signal(syscall.SIGINT); errors.Is(err, os.ErrProcessDone) {
			err = nil
		}
		select {
		case <-exited:
		case <-time.After(5 * time.Minute):
			err = errors.Join(err, process.Signal(syscall.SIGQUIT))
			<-exited
		}
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// Shared is one server for all tests of a package. The first test that needs the server starts it. The zero value is
// ready to use. TestMain calls Stop at the end.
type Shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Server returns the server. It skips the test if PostgreSQL is not installed.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = Start(Options{}) })
	skipMissing(t, s.err)
	return s.server
}

// NewDatabase creates a new database on the server and returns its address.
func (s *Shared) NewDatabase(t testing.TB) string {
	t.Helper()
	return s.Server(t).NewDatabase(t)
}

// Stop ends the server, if it was started.
func (s *Shared) Stop() error {
	if s.server == nil {
		return nil
	}
	return s.server.Stop()
}

// New starts a server for one test. It skips the test if PostgreSQL is not installed.
func New(t testing.TB, opts Options) *Server {
	t.Helper()
	s, err := Start(opts)
	skipMissing(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func skipMissing(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
