package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestLicenses proves that the list has a text of each module that is linked into a program (run returns an error for
// one without), and the texts of works inside modules: in folders of packages and in folders of licenses.
func TestLicenses(t *testing.T) {
	t.Chdir("../..")
	var out bytes.Buffer
	if err := run(t.Context(), &out, "./cmd/daemon", "./cmd/waitcast"); err != nil {
		t.Fatal(err)
	}
	titles := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		if title, ok := strings.CutPrefix(line, "======== "); ok {
			words := strings.Fields(title)
			titles[strings.Trim(words[0], ",")+" "+words[len(words)-1]] = true
		}
	}
	for _, want := range []string{
		"Go LICENSE",
		"github.com/waitcast/waitcast LICENSE",
		"github.com/waitcast/waitcast api/page/static/vendor/uplot/LICENSE",
		"github.com/golang/freetype LICENSE",
		"github.com/golang/freetype licenses/ftl.txt",
		"github.com/klauspost/compress internal/snapref/LICENSE",
		"github.com/klauspost/compress zstd/internal/xxhash/LICENSE.txt",
		"github.com/prometheus/client_golang internal/github.com/golang/gddo/LICENSE",
		"gonum.org/v1/gonum THIRD_PARTY_LICENSES/Cephes-LICENSE",
	} {
		if !titles[want] {
			t.Errorf("the text %s is missing", want)
		}
	}
	packages, err := list(t.Context(), []string{"./cmd/daemon", "./cmd/waitcast"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if p.Module != nil && !strings.Contains(out.String(), "======== "+p.Module.Path) {
			t.Errorf("no text of %s", p.Module.Path)
		}
	}
}
