// Command sbom prints the bill of materials of some Go programs as CycloneDX JSON: their modules, as the programs
// themselves record them. The same programs give the same bytes.
//
//	go run ./scripts/sbom -version V PROGRAM...
package main

import (
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	packageurl "github.com/package-url/packageurl-go"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	version := flags.String("version", "", "the version of the programs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || flags.NArg() == 0 {
		return errors.New("usage: sbom -version V PROGRAM [PROGRAM]")
	}
	bom, err := materials(*version, flags.Args())
	if err != nil {
		return err
	}
	return cdx.NewBOMEncoder(stdout, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).
		EncodeVersion(bom, cdx.SpecVersion1_6)
}

// materials returns the bill of some programs of one module.
func materials(version string, programs []string) (*cdx.BOM, error) {
	modules := map[string]cdx.Component{} // by their references
	var names []string
	main := ""
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		main = info.Main.Path
		names = append(names, filepath.Base(program))
		standard := component("std", strings.TrimPrefix(info.GoVersion, "go"), "")
		modules[standard.BOMRef] = standard
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			c := component(module.Path, module.Version, module.Sum)
			modules[c.BOMRef] = c
		}
	}
	refs := slices.Sorted(maps.Keys(modules))
	components := make([]cdx.Component, 0, len(refs))
	for _, ref := range refs {
		components = append(components, modules[ref])
	}
	subject := component(main, version, "")
	subject.Type = cdx.ComponentTypeApplication
	subject.Description = "the programs " + strings.Join(names, " and ")
	subject.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &subject}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: subject.BOMRef, Dependencies: &refs}}
	return bom, nil
}

// component returns a module. sum is the module's checksum in go.sum, or empty if there is none.
func component(path, version, sum string) cdx.Component {
	folder, name := "", path
	if i := strings.LastIndex(path, "/"); i >= 0 {
		folder, name = path[:i], path[i+1:]
	}
	url := packageurl.NewPackageURL(packageurl.TypeGolang, folder, name, version, nil, "").ToString()
	out := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		out.Properties = &[]cdx.Property{{Name: "go.sum", Value: sum}}
	}
	return out
}
