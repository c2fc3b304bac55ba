package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/client"
)

// flags defines the flags for credentials.
func (c *credentials) flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.tokenFile, "token-file", "",
		"file of a token for the daemon; default WAITCAST_TOKEN (the token itself), else WAITCAST_TOKEN_FILE")
	flags.StringVar(&c.ca, "ca", "",
		"file of the CA certificates for the daemon's certificate; default WAITCAST_CA, else the system's")
	flags.StringVar(&c.cert, "cert", "", "file of a client certificate; default WAITCAST_CERT")
	flags.StringVar(&c.key, "key", "", "file of the client certificate's key; default WAITCAST_KEY")
}

// credentials returns an HTTP client that sends the user's credentials.
func (a *app) credentials() (*http.Client, error) {
	token, err := a.givenToken()
	if err != nil && a.shows.tokenFile != "" {
		return nil, fmt.Errorf("no token: %w", err)
	} // other errors are ignored: many requests need no token, and the file may be for administrators only
	given := client.Credentials{Token: token, CA: a.shows.ca, Cert: a.shows.cert, Key: a.shows.key, Munge: true}
	for _, f := range []struct {
		into *string
		name string
	}{{&given.CA, "WAITCAST_CA"}, {&given.Cert, "WAITCAST_CERT"}, {&given.Key, "WAITCAST_KEY"}} {
		if *f.into == "" {
			*f.into = a.env(f.name)
		}
	}
	return given.HTTPClient()
}

// givenToken returns the token that the user gives by flag or environment. It returns an empty text if there is none.
func (a *app) givenToken() (string, error) {
	if file := a.shows.tokenFile; file != "" {
		return readToken(file, "as --token-file says")
	}
	if token := strings.TrimSpace(a.env("WAITCAST_TOKEN")); token != "" {
		return token, nil
	}
	if file := a.env("WAITCAST_TOKEN_FILE"); file != "" {
		return readToken(file, "as WAITCAST_TOKEN_FILE says")
	}
	return "", nil
}

// readToken reads the token in a file. how is added to errors; it describes why this file is read.
func readToken(file, how string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w (%s)", err, how)
	}
	token := strings.TrimSpace(string(content))
	if token == "" || strings.ContainsAny(token, "\r\n \t") {
		return "", fmt.Errorf("%s holds no token (%s)", file, how)
	}
	return token, nil
}
