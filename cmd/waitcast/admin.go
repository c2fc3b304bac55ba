package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// tokenName is the name of the token's file in the daemon's state folder.
const tokenName = "admin-token"

// systemToken is the token's file of a daemon that is a service.
const systemToken = "/var/lib/waitcast/" + tokenName

// tokenFlag defines --token-file.
func tokenFlag(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, "token-file", "", "file of the admin token; default WAITCAST_TOKEN_FILE, else admin-token in the state folder")
}

// token returns the daemon's admin token from the file that the user means: the flag's, the variable's, or the first that there is of those in the state
// folders, by the daemon's own rules.
func (a *app) token(flag string) (string, error) {
	files, how := a.tokenFiles(flag)
	var err error
	for _, file := range files {
		var content []byte
		if content, err = os.ReadFile(file); err == nil {
			token := strings.TrimSpace(string(content))
			if token == "" || strings.ContainsAny(token, "\r\n \t") {
				return "", fmt.Errorf("%s holds no admin token (%s)", file, how)
			}
			return token, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return "", fmt.Errorf("no admin token: %w (%s)\n"+
		"The daemon makes it when it starts: admin-token in its data_dir. Only who may read that file may do this: give it by --token-file or WAITCAST_TOKEN_FILE",
		err, how)
}

// tokenFiles returns where the token may be, and why there.
func (a *app) tokenFiles(flag string) (files []string, how string) {
	if flag != "" {
		return []string{flag}, "as --token-file says"
	}
	if file := a.env("WAITCAST_TOKEN_FILE"); file != "" {
		return []string{file}, "as WAITCAST_TOKEN_FILE says"
	}
	if dir, _, _ := strings.Cut(a.env("STATE_DIRECTORY"), ":"); dir != "" {
		files = append(files, filepath.Join(dir, tokenName))
	}
	if dir := a.env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		files = append(files, filepath.Join(dir, "waitcast", tokenName))
	} else if home := a.env("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".local", "state", "waitcast", tokenName))
	}
	return append(files, systemToken), "the default places"
}
