package main

import (
	"encoding/json"
	"fmt"
	"os/user"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/token"
)

// tokenFlags are the flags of waitcast token new.
type tokenFlags struct {
	role, user, name string
}

func newToken(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "token",
		Short: "Make tokens for the daemon's tokens file",
		Args:  cobra.NoArgs,
	}
	var f tokenFlags
	one := &cobra.Command{
		Use:   "new",
		Short: "Make a token",
		Long: "Make a random token, and print it together with the lines for the daemon's tokens_file.\n\n" +
			"The token is shown only once: the file has its hash. Give it to its user, and add the lines to the " +
			"file; the daemon reads the file again within seconds.",
		Example: "  waitcast token new --role user --user alice\n" +
			"  waitcast token new --role admin --name backup --json",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.tokenNew(f) },
	}
	flags := one.Flags()
	flags.StringVar(&f.role, "role", "user", "public, user or admin")
	flags.StringVar(&f.user, "user", "", "owner of the jobs that the token may see; default for the role user: you")
	flags.StringVar(&f.name, "name", "", "name of the token in the file and in logs; default the user, else the role")
	command.AddCommand(one)
	return command
}

// tokenNew prints a new token, and its line for the daemon's token file.
func (a *app) tokenNew(f tokenFlags) error {
	switch {
	case !slices.Contains([]string{"public", "user", "admin"}, f.role):
		return console.NewUsageError(fmt.Sprintf("--role %q: want public, user or admin", f.role))
	case f.role == "user" && f.user == "":
		me, err := user.Current()
		if err != nil {
			return console.NewUsageError("--user is not set, and who you are is not known: " + err.Error())
		}
		f.user = me.Username
	}
	if f.name == "" {
		if f.name = f.user; f.name == "" {
			f.name = f.role
		}
	}
	secret := token.New()
	entry := token.Token{Name: f.name, Role: f.role, User: f.user, SHA256: token.Hash(secret)}
	line, err := entry.Line()
	if err != nil {
		return err
	}
	if a.JSON {
		told, err := json.Marshal(struct { //nolint:gosec // it is printed for its owner, this once
			Secret string `json:"token"`
			token.Token
		}{secret, entry})
		if err != nil {
			return err
		}
		return a.printJSON(told)
	}
	_, err = fmt.Fprintf(a.Stdout,
		"%s\n\nThe token is above, and is not shown again. For the daemon's tokens_file:\n\n%s", secret, line)
	return err
}
