package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// logrotateMain is the path of logrotate's configuration in all distributions.
const logrotateMain = "/etc/logrotate.conf"

// Modes of new files: the mode that slurmctld uses (src/common/log.c), and the mode of the documented rotation.
const (
	slurmctldMode  = 0o600
	documentedMode = 0o640
)

// ctldLog is slurmctld's log, with the settings that determine who can read it after slurmctld or a rotation has
// changed it. slurmctld opens the file at its start, at SIGUSR2 and at "scontrol reconfigure". It creates a missing
// file with mode 0600. It gives the file to SlurmUser and to that user's primary group (update_logging in
// src/slurmctld/controller.c). It never changes the mode of an existing file. A change of the owner does not change
// the access control list.
type ctldLog struct {
	path     string
	now      permissions
	mode     fs.FileMode // the mode of the file
	owner    *user.User  // owner is SlurmUser, whom slurmctld makes the owner
	gid      uint32      // the primary group of SlurmUser
	defaults acl         // the folder's list for new files
	hasList  bool        // whether the folder has a default list
	rotation *rotation   // rotation is nil if no rotation was found
}

// newCtldLog reads the settings of a log.
func newCtldLog(path, logrotate string) (*ctldLog, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	l := &ctldLog{path: path}
	var err error
	if l.now, l.mode, err = permissionsOf(path); err != nil {
		return nil, err
	}
	if l.owner, err = user.LookupId(strconv.FormatUint(uint64(l.now.uid), 10)); err != nil {
		return nil, fmt.Errorf("the owner of %s: %w", path, err)
	}
	gid, err := strconv.ParseUint(l.owner.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("the group of %s: %w", l.owner.Username, err)
	}
	l.gid = uint32(gid)
	if l.defaults, l.hasList, err = readACL(filepath.Dir(path), defaultList); err != nil {
		return nil, err
	}
	if l.rotation, err = findRotation(logrotate, path); err != nil {
		return nil, fmt.Errorf("the configuration of logrotate: %w", err)
	}
	return l, nil
}

// given returns the permissions of the file after slurmctld has changed its owner and group.
func (l *ctldLog) given(p permissions) permissions {
	p.gid = l.gid
	return p
}

// rotated returns the permissions of the file that slurmctld writes to after a rotation.
func (l *ctldLog) rotated(s settings) permissions {
	if s.copies {
		return l.given(l.now)
	}
	mode := fs.FileMode(slurmctldMode)
	switch {
	case s.creates && s.hasMode:
		mode = s.mode
	case s.creates: // logrotate copies the mode and the list of the rotated file
		return l.given(l.now)
	}
	list := modeACL(mode)
	if l.hasList {
		list = l.defaults.created(mode)
	}
	if s.creates {
		list = list.chmod(mode)
	}
	return l.given(permissions{uid: l.now.uid, acl: list})
}

// stays checks whether slurmctld's log, which is readable now, stays readable for the daemon's user.
func (c *checker) stays(about, path string) {
	who := c.as
	if who == nil {
		who, _ = lookup(c.User)
	}
	if who == nil || who.uid == 0 || who.reaches(path, mayRead) != nil {
		return // root can read everything; a log that cannot be read now has a finding already
	}
	l, err := newCtldLog(path, c.logrotate())
	if err != nil {
		c.add("log.stays_readable", Warning, about,
			"look at the permissions of "+path+" again after the next rotation", "%v", err)
		return
	}
	status, hint, text := l.verdict(who)
	c.add("log.stays_readable", status, about, hint, "%s", text)
}

func (c *checker) logrotate() string {
	if c.opts.Logrotate != "" {
		return c.opts.Logrotate
	}
	return logrotateMain
}

// verdict returns whether the log stays readable for an account, and advice if it does not.
func (l *ctldLog) verdict(who *account) (status Status, hint, text string) {
	group := l.group()
	given := l.given(l.now)
	documented := l.rotated(settings{creates: true, mode: documentedMode, hasMode: true})
	needsList := !documented.allow(who, mayRead) || !given.allow(who, mayRead)
	var todo []string
	if needsList {
		todo = append(todo, l.grant(who.name))
	}
	switch {
	case !given.allow(who, mayRead):
		return Failed, todo[0],
			fmt.Sprintf(
				"%s will lose it: slurmctld gives its log to the group %s, that of its user %s, at each SIGUSR2, "+
					"scontrol reconfigure and start", who.name, group, l.owner.Username)
	case l.rotation == nil && needsList:
		return Failed, todo[0],
			fmt.Sprintf("%s will lose it at the next rotation: a new log has neither a group that %s is in nor an "+
				"access control list",
				who.name, who.name)
	case l.rotation == nil:
		return Warning, l.install(),
			fmt.Sprintf("no file of logrotate names %s: whatever rotates it must create the new log with mode 0640, "+
				"or slurmctld creates it with 0600", l.path)
	}
	at := fmt.Sprintf("%s:%d", l.rotation.File, max(l.rotation.Line, l.rotation.Block))
	rotated := l.rotated(l.rotation.settings)
	if rotated.allow(who, mayRead) {
		return OK, "",
			fmt.Sprintf("%s can read it after SIGUSR2, scontrol reconfigure and a restart of slurmctld (user %s, "+
				"group %s), and after a rotation (%s)",
				who.name, l.owner.Username, group, at)
	}
	if s := l.rotation.settings; !s.creates || s.hasMode && s.mode&0o040 == 0 {
		todo = append(todo, l.rotation.createCommand())
	}
	if len(todo) == 0 {
		todo = append(todo, l.grant(who.name))
	}
	return Failed, strings.Join(todo, " && "),
		fmt.Sprintf("%s will lose it at the next rotation (%s: %s)", who.name, at, l.rotation.setting())
}

// group returns the name of the group that slurmctld gives the log to.
func (l *ctldLog) group() string {
	if g, err := user.LookupGroupId(l.owner.Gid); err == nil {
		return g.Name
	}
	return l.owner.Gid
}

// grant returns the commands of docs/install.md that make the log readable permanently. A default list for /var/log
// would open other logs too. There grant uses the group, or advises another folder if the group is root's.
func (l *ctldLog) grant(who string) string {
	dir := filepath.Dir(l.path)
	switch {
	case dir != "/var/log":
		return fmt.Sprintf("setfacl -m u:%s:rx,d:u:%s:r %s && setfacl -m u:%s:r %s", who, who, dir, who, l.path)
	case l.gid != 0:
		return fmt.Sprintf("usermod -aG %s %s && chmod g+r %s, and restart the daemon", l.group(), who, l.path)
	}
	return "give slurmctld's log a folder of its own: SlurmctldLogFile=/var/log/slurm/slurmctld.log in slurm.conf; " +
		"then see docs/install.md"
}

// install returns the command that installs the rotation of docs/install.md.
func (l *ctldLog) install() string {
	const example, documented = "/usr/share/doc/waitcast/examples/logrotate-slurm", "/var/log/slurm/slurmctld.log"
	if l.path == documented {
		return "install -m 0644 " + example + " /etc/logrotate.d/slurmctld"
	}
	return fmt.Sprintf("sed 's|%s|%s|' %s > /etc/logrotate.d/slurmctld", documented, l.path, example)
}

// createCommand returns the command that makes logrotate create the log with the documented mode.
func (r *rotation) createCommand() string {
	if r.Line > 0 {
		return fmt.Sprintf(`sed -i '%ds/.*/    create %#o/' %s`, r.Line, documentedMode, r.File)
	}
	return fmt.Sprintf(`sed -i '%da\    create %#o' %s`, r.Block, documentedMode, r.File)
}

// setting returns the directive that determines the mode. If there is none, it describes the default.
func (r *rotation) setting() string {
	switch {
	case r.Directive != "":
		return r.Directive
	case r.creates:
		return "create, by default"
	}
	return "no create"
}

// letReadCtld is the accessHinter for slurmctld's log: it returns the commands of grant. For folders above the folder
// of the log it returns the advice of letRead.
func (c *checker) letReadCtld(path, who string, err error) string {
	var refused *refusedError
	if errors.As(err, &refused) && refused.path != path && refused.path != filepath.Dir(path) {
		return letRead(path, who, err)
	}
	l, lookErr := newCtldLog(path, c.logrotate())
	if lookErr != nil {
		return letRead(path, who, err)
	}
	return l.grant(who)
}
