package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	built "github.com/waitcast/waitcast/internal/version"
)

// version is the output of `waitcast version`.
type version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this command",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if a.JSON {
				return json.NewEncoder(a.JSONTo()).Encode(v)
			}
			_, err := fmt.Fprintln(a.Stdout, v)
			return err
		},
	}
}

// String returns the version as one line of text.
func (v version) String() string {
	if v.Commit != "" {
		v.Version += " (" + v.Commit + ")"
	}
	return fmt.Sprintf("waitcast %s, %s, %s", v.Version, v.Go, v.System)
}

// buildVersion reads the version that the Go toolchain wrote into the binary.
func buildVersion() version {
	v := version{Version: built.String(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
