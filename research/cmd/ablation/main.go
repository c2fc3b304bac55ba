// Command ablation measures the contribution of each part of the forecasting engine. It replays the first halves of the
// logs in the folder beside the repository, and writes a page in Markdown. It stores the results of runs in a folder,
// so that an interrupted study can continue.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/waitcast/waitcast/research/ablation"
	"github.com/waitcast/waitcast/research/internal/checkout"
)

func main() {
	checkout.Enter()
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "ablation:", err)
		os.Exit(1)
	}
}

// run runs the command with the given arguments. It writes the page to stdout, or to the file that -out names.
func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ablation", flag.ContinueOnError)
	flags.SetOutput(stderr)
	shared := flags.String("shared", cmp.Or(os.Getenv("WAITCAST_SHARED"), filepath.Join("..", "shared")),
		"folder with traces/")
	traces := flags.String("traces", "KTH-SP2-1996-2.1-cln,SDSC-SP2-1998-4.2-cln,CTC-SP2-1996-3.1-cln,"+
		"SDSC-Par-1996-3.1-cln,DOST-ASTI_COARE-Saliksik-2020-cln", "names, separated by commas")
	groups := flags.String("groups", strings.Join(ablation.Default(), ","),
		"what is left out one at a time, separated by commas; all are "+strings.Join(ablation.Groups(), ", "))
	jobs := flags.Int("jobs", 0, "how many jobs of each log are replayed, from its first on; 0 for the first half")
	keep := flags.String("keep", filepath.Join(os.TempDir(), "waitcast-ablation"),
		"folder that keeps the results; take another one for another version of the engine")
	out := flags.String("out", "", "file for the page, such as research/docs/ablation.md; empty: standard output")
	only := flags.Bool("page", false, "run nothing: write the page of the results that there are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	begun := time.Now()
	study := &ablation.Study{Folder: *keep, Jobs: *jobs, Variants: strings.Split(*groups, ","),
		Progress: func(trace, variant string) {
			fmt.Fprintf(stderr, "%6.0f s  %s: %s\n", time.Since(begun).Seconds(), trace, variant)
		}}
	for name := range strings.SplitSeq(*traces, ",") {
		study.Traces = append(study.Traces, filepath.Join(*shared, "traces", name+".swf.gz"))
	}
	if !*only {
		if err := study.Run(); err != nil {
			return err
		}
	}
	page, err := study.Page()
	if err != nil {
		return err
	}
	if *out == "" {
		_, err = io.WriteString(stdout, page)
		return err
	}
	return os.WriteFile(*out, []byte(page), 0o644) //nolint:gosec // a page of the repository
}
