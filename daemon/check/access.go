package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is a user whose permissions are computed, because this process may run as another user.
type account struct {
	name   string
	uid    uint32
	groups []uint32
}

// These are the permissions that can be checked.
const (
	mayRead   = 4
	mayWrite  = 2
	maySearch = 1
)

// findAccount looks up the second user (Options.As), if there is one, and checks whether that user can read the
// configuration file.
func (c *checker) findAccount() {
	if c.opts.As == "" {
		return
	}
	a, err := lookup(c.opts.As)
	if err != nil {
		c.add("user.known", Failed, "user "+c.opts.As,
			"make the user (the packages do), or give another one by --as", "%v", err)
		return
	}
	c.as = a
	c.add("user.known", OK, "user "+a.name, "", "uid %d, %s", a.uid, plural(len(a.groups), "group"))
	if c.cfg.File != "" {
		if err := a.reaches(c.cfg.File, mayRead); err != nil {
			c.add("config.readable", Failed, "user "+a.name, "chgrp "+a.name+" "+c.cfg.File+" and chmod g+r",
				"the configuration: %v", err)
		}
	}
}

func lookup(name string) (*account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("the groups of %s: %w", name, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	a := &account{name: name, uid: uint32(uid)}
	for _, id := range ids {
		gid, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, err
		}
		a.groups = append(a.groups, uint32(gid))
	}
	return a, nil
}

// refusedError means that an account may not use a path.
type refusedError struct {
	path string
	mode fs.FileMode
	want fs.FileMode
	// nfs is true if the file also has an NFSv4 list, which is not read and may allow more.
	nfs bool
}

// Error implements error.
func (e *refusedError) Error() string {
	verb := map[fs.FileMode]string{mayRead: "read", mayWrite: "written", maySearch: "entered",
		mayRead | maySearch: "listed", mayWrite | maySearch: "written to",
		mayRead | mayWrite: "read and written"}[e.want]
	return fmt.Sprintf("%s may not be %s (mode %#o)", e.path, verb, e.mode.Perm())
}

// reaches returns nil if the account has the wanted permission for a path and can enter every folder in the path. It
// evaluates mode bits and access control lists, and follows links.
func (a *account) reaches(path string, want fs.FileMode) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if err := a.allowed(dir, maySearch); err != nil {
			return err
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return a.allowed(real, want)
}

func (a *account) allowed(path string, want fs.FileMode) error {
	p, mode, err := permissionsOf(path)
	if err != nil {
		return err
	}
	if p.allow(a, want) {
		return nil
	}
	_, err = syscall.Getxattr(path, "system.nfs4_acl", nil)
	return &refusedError{path: path, mode: mode, want: want, nfs: err == nil}
}

// accessHinter returns advice on how to make a path readable for the user named who. err is the error of reading the
// path.
type accessHinter func(path, who string, err error) string

// readable adds a finding: whether this process and the other user can read a file or folder. For this process it tries
// to open the file or folder, and it returns whether that was possible.
func (c *checker) readable(about, path string, folder bool, letRead accessHinter) bool {
	f, readable := c.access(path, folder, letRead)
	c.add("log.readable", f.Status, about, f.Hint, "%s", f.Text)
	return readable
}

// access returns a finding without id and subject: whether this process and the other user can read a file or folder.
// For this process it tries to open the file. The result readable is true if this process can read it.
func (c *checker) access(path string, folder bool, letRead accessHinter) (found Finding, readable bool) {
	f, err := os.Open(path)
	if err == nil && folder {
		_, err = f.ReadDir(1)
		if err != nil && err.Error() == "EOF" {
			err = nil
		}
	}
	if f != nil {
		_ = f.Close() // nothing was written
	}
	if err != nil {
		return Finding{Status: Failed, Text: err.Error(), Hint: accessHint(err, path, c.User, letRead)}, false
	}
	if c.as == nil {
		return Finding{Status: OK, Text: path + " can be read by " + c.User}, true
	}
	want := fs.FileMode(mayRead)
	if folder {
		want |= maySearch
	}
	var refused *refusedError
	switch err := c.as.reaches(path, want); {
	case err == nil:
		return Finding{Status: OK, Text: path + " can be read by " + c.User + " and by " + c.as.name}, true
	case errors.As(err, &refused) && refused.nfs:
		try := "head -1 "
		if folder {
			try = "ls "
		}
		return Finding{Status: Warning, Hint: "check with: runuser -u " + c.as.name + " -- " + try + path,
			Text: fmt.Sprintf("for %s %v; an access control list of NFSv4, which is not read here, may allow it",
				c.as.name, refused)}, true
	default:
		return Finding{Status: Failed, Hint: letRead(path, c.as.name, err),
			Text: fmt.Sprintf("for %s %v", c.as.name, err)}, true
	}
}

// accessHint returns advice on an error of opening a file.
func accessHint(err error, path, who string, letRead accessHinter) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "correct the source's path; a log that comes only with its first record may be missing still: " +
			"the daemon waits for it"
	case errors.Is(err, fs.ErrPermission):
		return letRead(path, who, err)
	}
	return "look at the file system"
}

// letRead returns advice on how to make a path readable for the user named who. err is the error when the path was
// read. docs/install.md describes the ways for each scheduler.
func letRead(path, who string, err error) string {
	var refused *refusedError
	folder := false
	if errors.As(err, &refused) {
		folder = refused.want&maySearch != 0
		if refused.path != path && folder { // a folder of the path refuses the user
			return "let " + who + " enter it: setfacl -m u:" + who + ":x " + refused.path + ", or chmod o+x"
		}
	}
	if folder {
		return "setfacl -m u:" + who + ":rx " + path + ", or chgrp " + who + " and chmod g+rx"
	}
	return "chgrp " + who + " " + path + " && chmod g+r " + path +
		", and let rotation make it so; or an access control list: setfacl -m u:" + who + ":r " + path
}
