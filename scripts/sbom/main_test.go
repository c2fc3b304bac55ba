package main

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestBill proves that the bill of a program names its modules with their sums and the standard library, and that it is
// the same each time.
func TestBill(t *testing.T) {
	program, err := os.Executable() // this program links the library of CycloneDX
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run([]string{"-version", "1.2.3", program}, out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two bills of one program differ")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(&first, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; c.Name != "github.com/waitcast/waitcast" || c.Version != "1.2.3" ||
		c.PackageURL != "pkg:golang/github.com/waitcast/waitcast@1.2.3" {
		t.Errorf("the bill is of %+v", c)
	}
	depends := *(*bom.Dependencies)[0].Dependencies
	sums := map[string]string{}
	for _, c := range *bom.Components {
		sums[c.Name+" "+c.Version] = ""
		if c.Properties != nil {
			sums[c.Name+" "+c.Version] = (*c.Properties)[0].Value
		}
		if !slices.Contains(depends, c.BOMRef) {
			t.Errorf("nothing depends on %s", c.BOMRef)
		}
	}
	if _, ok := sums["std "+strings.TrimPrefix(runtime.Version(), "go")]; !ok {
		t.Errorf("the standard library is missing in %v", sums)
	}
	sum, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for name, h1 := range sums {
		if strings.HasPrefix(name, "github.com/CycloneDX/cyclonedx-go ") {
			found = strings.Contains(string(sum), name+" "+h1+"\n")
		}
	}
	if !found {
		t.Errorf("the library of CycloneDX is missing, or its sum is not that of go.sum: %v", sums)
	}
}

// TestNoProgram proves that the error about a file that is no Go program names the file.
func TestNoProgram(t *testing.T) {
	err := run([]string{"-version", "1", "main.go"}, new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "main.go") {
		t.Errorf("got %v", err)
	}
}
