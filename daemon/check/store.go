package check

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// These are amounts of free disk space in bytes: a warning below the first, a failure below the second. The database
// grows by some hundred bytes for each job, and SQLite first writes copies of the pages that it changes.
const (
	littleRoom = 1 << 30
	noRoom     = 64 << 20
)

// folder checks a folder that the daemon writes to. If the folder does not exist, it checks the nearest existing
// folder above. It returns the checked folder, or "" if there is none.
func (c *checker) folder(want string) string {
	dir, err := existing(want)
	if err != nil {
		c.add("store.folder", Failed, "store", "set data_dir", "%v", err)
		return ""
	}
	if err := syscall.Access(dir, mayWrite|maySearch); err != nil {
		c.add("store.folder", Failed, "store", "set data_dir to a folder that "+c.User+
			" may write, or give it to that user", "%s may not write %s: %v", c.User, dir, err)
	} else {
		c.add("store.folder", OK, "store", "", "%s can be written by %s", dir, c.User)
	}
	c.storeFor(want, dir)
	return dir
}

// store checks the file of the database.
func (c *checker) store() {
	path := c.cfg.Store.Path
	dir := c.folder(filepath.Dir(path))
	if dir == "" {
		return
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		c.add("store.space", Warning, "store", "", "%s: %v", dir, err)
	} else {
		free := int64(disk.Bavail) * int64(disk.Bsize) //nolint:gosec,unconvert // platforms differ
		status, hint := OK, ""
		switch {
		case free < noRoom:
			status, hint = Failed, "make room, or set data_dir to another disk"
		case free < littleRoom:
			status, hint = Warning, "make room soon: when the disk is full answers go on, but new records wait"
		}
		c.add("store.space", status, "store", hint, "%s free", size(free))
	}
	c.database(path)
}

// storeFor adds a finding if the other user cannot write the store. dir is the nearest existing folder.
func (c *checker) storeFor(want, dir string) {
	if c.as == nil {
		return
	}
	if err := c.as.reaches(dir, mayWrite|maySearch); err != nil {
		hint := "chown " + c.as.name + " " + dir
		if dir != want { // give no advice to change the owner of a folder above, which may be /root
			hint = "install -d -m 0750 -o " + c.as.name + " " + want +
				", or set data_dir to the folder that the service has"
		}
		c.add("store.folder", Failed, "store", hint, "for %s %v", c.as.name, err)
	}
}

// existing returns the folder, or the nearest existing folder above. The daemon creates the rest of the path.
func existing(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return dir, nil
		case err == nil:
			return "", fmt.Errorf("%s is not a folder", dir)
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return "", err
		}
		dir = filepath.Dir(dir)
	}
}

// database reports the size of the database file, copies of it that were set aside after damage, whether the second
// user may use it, and whether a daemon has it open.
func (c *checker) database(path string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.add("store.database", OK, "store", "", "%s is not there yet: it is made at the first start", path)
		return
	case err != nil:
		c.add("store.database", Failed, "store", "", "%v", err)
		return
	}
	text := fmt.Sprintf("%s, %s", path, size(info.Size()))
	if damaged, _ := filepath.Glob(path + ".corrupt-*"); len(damaged) > 0 {
		c.add("store.damaged", Warning, "store", "keep them for a report, or remove them: they are not used",
			"%s set aside after damage", plural(len(damaged), "file"))
	}
	if c.as != nil {
		if err := c.as.reaches(path, mayRead|mayWrite); err != nil {
			c.add("store.database", Failed, "store", "chown "+c.as.name+" "+path+"*: it was made by another user",
				"for %s %v", c.as.name, err)
			return
		}
	}
	pid, held := holder(path + ".lock")
	switch {
	case held && pid > 0:
		text += fmt.Sprintf("; a running daemon has it open (process %d)", pid)
	case held:
		text += "; a running daemon has it open"
	}
	c.add("store.database", OK, "store", "", "%s", text)
}

// holder reports whether a process holds a lock file, and the PID of the process. It reads the kernel's list, because
// an attempt to lock the file could prevent a daemon from starting.
func holder(path string) (pid int, held bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if !ok || err != nil {
		return 0, false
	}
	inode := fmt.Sprintf(":%d ", st.Ino)
	for line := range strings.Lines(string(locks)) { // for example "1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF"
		if strings.Contains(line, "FLOCK") && strings.Contains(line, inode) {
			held = true
		}
	}
	if !held {
		return 0, false
	}
	var who struct {
		PID int `json:"pid"`
	}
	if content, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(content, &who) // on error the process stays unknown
	}
	return who.PID, true
}

// address reports whether the daemon can listen on the address. It is no failure if a running waitcastd listens there
// now, but any other program is one.
func (c *checker) address(ctx context.Context) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.cfg.Listen)
	if err == nil {
		_ = l.Close()
		c.add("listen.free", OK, "address", "", "%s is free%s", c.cfg.Listen, openTo(c.cfg.Listen))
		return
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		c.add("listen.free", Failed, "address", "choose another address with listen, WAITCAST_LISTEN or --listen", "%v",
			err)
		return
	}
	ready, err := Running(ctx, URL(c.cfg.Listen))
	if err != nil {
		c.add("listen.free", Failed, "address", "stop what listens there, or choose another address with listen",
			"%s is taken, and not by a waitcastd that answers: %v", c.cfg.Listen, err)
		return
	}
	c.add("listen.free", OK, "address", "", "%s is taken by a running waitcastd, which says: %s", c.cfg.Listen, ready)
}

// openTo describes who can reach an address that is not loopback.
func openTo(address string) string {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "localhost" || ip != nil && ip.IsLoopback()) {
		return ""
	}
	return "; other machines can reach it"
}

// URL returns the URL of a daemon on this machine that listens on an address.
func URL(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

// patience is the maximum time that a running daemon may take to answer. It normally needs milliseconds.
const patience = 3 * time.Second

// Running requests the readiness of a daemon and returns its status. It returns an error if another program listens at
// the URL. A daemon with TLS is recognized whatever its certificate is; nothing secret is sent to it.
func Running(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	anyone := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // nothing is sent that must be kept from others
	transport := &http.Transport{TLSClientConfig: anyone, DisableKeepAlives: true}
	client := &http.Client{Transport: transport}
	status, word, err := fetch(ctx, client, url+"/readyz")
	// net/http answers a plain request like this if it expects TLS.
	if rest, plain := strings.CutPrefix(url, "http://"); err == nil && plain && status == http.StatusBadRequest {
		url = "https://" + rest
		status, word, err = fetch(ctx, client, url+"/readyz")
	}
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(word, "ready") || strings.HasPrefix(word, "not ready") || strings.HasPrefix(word, "degraded") {
		return word, nil
	}
	// Every caller may read this path, even one that may not read /readyz.
	if _, healthy, err := fetch(ctx, client, url+"/healthz"); err == nil && healthy == "ok" {
		return "ok", nil
	}
	return "", fmt.Errorf("%s/readyz: %s", url, http.StatusText(status))
}

// fetch returns the status of an answer and the beginning of its content.
func fetch(ctx context.Context, client *http.Client, url string) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return response.StatusCode, strings.TrimSpace(string(content)), err
}
