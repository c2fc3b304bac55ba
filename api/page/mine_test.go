package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/waitcast/waitcast/internal/browser"
	"github.com/waitcast/waitcast/internal/token"
)

// TestMine proves that the page shows a user's own jobs and habits when a token is given, and has a link to them only
// then.
func TestMine(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a daemon and a browser; left out by -short")
	}
	if _, err := browser.Find(); err != nil {
		t.Skip("SKIP: " + err.Error())
	}
	line, err := (&token.Token{Name: "u", Role: "user", User: "user00", SHA256: token.Hash("sesame")}).Line()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, history, "tokens_file: "+file+"\n")
	stopper(t, s)
	b := open(t, s.url)
	b.show("cluster=demo&view=wait&queue=medium")
	if eval[bool](b, `!!document.querySelector("nav [data-view=mine]")`) {
		t.Error("without a token the page leads to my jobs")
	}
	b.show("cluster=demo&view=mine")
	if got := eval[string](b, `document.querySelector("#view .notice").innerText`); !strings.Contains(got,
		"This needs a token") {
		t.Errorf("without a token the page says %q", got)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`sessionStorage.setItem("waitcast-token", "sesame")`))
	b.show("cluster=demo&view=wait&queue=medium")
	if !eval[bool](b, `!!document.querySelector("nav [data-view=mine]")`) {
		t.Error("with a token the page does not lead to my jobs")
	}
	b.show("cluster=demo&view=mine")
	b.waitFor(`document.querySelector("[data-name=user]")?.dataset.value === "user00"`)
	if got := eval[string](b, `document.querySelector("#view").innerText`); !strings.Contains(got, "Habits") {
		t.Errorf("the view has no habits: %s", got)
	}
	b.heard()
}
