package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
)

// tokenName is the name of the token file in the daemon's state folder.
const tokenName = "admin-token"

// systemToken is the path of the token file of a daemon that runs as a service.
const systemToken = "/var/lib/waitcast/" + tokenName

// token returns the daemon's admin token: the one that the user gives; empty if the user gives a password instead;
// otherwise the content of the first existing token file in the state folders, in the order in which the daemon chooses
// its folder. If no token can be read, but the user gives a client certificate, it is empty too.
func (a *app) token() (string, error) {
	given, err := a.givenToken()
	if given != "" {
		return given, nil
	}
	if err == nil && a.password() {
		return "", nil
	}
	if err == nil {
		for _, file := range a.tokenFiles() {
			if given, err = readToken(file, "the default places"); err == nil {
				a.tokenFrom = file
				return given, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		if a.shows.cert != "" || a.env("WAITCAST_CERT") != "" {
			return "", nil // the certificate may be an administrator's; if not, the daemon refuses the request
		}
	}
	return "", fmt.Errorf("no admin token: %w. The daemon writes it to the file admin-token in its data_dir when "+
		"it starts: name that file by --token-file or WAITCAST_TOKEN_FILE, as a user who may read it", err)
}

// tokenFiles returns the paths where the admin token may be.
func (a *app) tokenFiles() (files []string) {
	if dir, _, _ := strings.Cut(a.env("STATE_DIRECTORY"), ":"); dir != "" {
		files = append(files, filepath.Join(dir, tokenName))
	}
	if dir := a.env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		files = append(files, filepath.Join(dir, "waitcast", tokenName))
	} else if home := a.env("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".local", "state", "waitcast", tokenName))
	}
	return append(files, systemToken)
}

// password reports whether the address of the daemon names a user, whose password replaces a token.
func (a *app) password() bool {
	address := a.url
	if address == "" {
		address = a.env("WAITCAST_URL")
	}
	u, err := url.Parse(address)
	return err == nil && u.User != nil
}
