package manual_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/internal/manual"
	"github.com/waitcast/waitcast/internal/manual/manualtest"
)

func day() time.Time { return time.Date(2026, 3, 2, 23, 0, 0, 0, time.UTC) }

// example returns a command with texts that roff would misread.
func example() *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "Do things"}
	sub := &cobra.Command{
		Use: "go -n N | FILE", Short: "Go", Run: func(*cobra.Command, []string) {},
		Long: ".hidden files are read. 'quoted' ones too; C:\\new is a path.\n\n  code --with  spaces\n  .Sh NOT " +
			"A HEADING\n\nThe end.",
		Example: "  prog go -n 1 '*.swf' | tee \\\n    out",
	}
	sub.Flags().IntP("number", "n", 3, "how many; -1 is all")
	sub.Flags().String("secret", "", "not told")
	_ = sub.Flags().MarkHidden("secret")
	hidden := &cobra.Command{Use: "manual", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.PersistentFlags().Bool("json", false, "print JSON")
	root.AddCommand(sub, hidden)
	return root
}

func pages() map[string]string {
	m := manual.Manual{Section: 1, Date: day(), SeeAlso: []string{"progd(8)", "a.file(5)"}, More: []manual.Part{
		{Title: "FILES", List: []manual.Item{{Term: "/etc/x", Text: "A file."}}},
	}}
	all := m.Commands(example())
	all["prog.yaml.5"] = manual.Manual{Section: 5, Date: day()}.File("prog.yaml", "configuration", manual.Part{
		Title: "KEYS",
		List: manual.Keys(
			[]manual.Key{{Name: "a[].b", Doc: "what it is, see a.md. auto is best. Not for c", Allowed: "0 to 9",
				Default: "5", Flag: "b"}}),
	})
	return all
}

// TestPages proves that every visible command has a manual page, which mandoc accepts without a warning and which shows
// every text unchanged.
func TestPages(t *testing.T) {
	dir, mandoc := manualtest.Lint(t, pages())
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v: want prog.1, prog-go.1 and prog.yaml.5", files, err)
	}
	for name, wants := range map[string][]string{
		"prog.1": {"PROG(1)", "prog COMMAND [OPTION...]", "prog-go(1)", "Go.", "--json", "March 2, 2026"},
		"prog-go.1": {"prog go -n N | FILE", ".hidden files are read.", "'quoted' ones too; C:\\new is a path.",
			"code --with  spaces\n", ".Sh NOT A HEADING\n", "The end.", "-n, --number int",
			"How many; -1 is all. Default 3.", "prog go -n 1 '*.swf' | tee \\\n", "OPTIONS OF EVERY COMMAND", "/etc/x",
			"prog(1), a.file(5), progd(8)"},
		// The text of a list follows its term.
		"prog.yaml.5": {"PROG.YAML(5)", "a[].b",
			"What it is, see a.md. auto is best. Not for c. Allowed: 0 to 9. Default: 5. Flag: --b."},
	} {
		out, err := exec.CommandContext(t.Context(), mandoc, "-T", "ascii", "-O", "width=500",
			filepath.Join(dir, name)).Output()
		if err != nil {
			t.Fatal(err)
		}
		shown := plain(string(out))
		for _, want := range wants {
			if !strings.Contains(strings.ReplaceAll(shown, ".  ", ". "), want) {
				t.Errorf("%s does not show %q:\n%s", name, want, shown)
			}
		}
		if strings.Contains(shown, "secret") || strings.Contains(shown, "manual(1)") {
			t.Errorf("%s shows what is hidden:\n%s", name, shown)
		}
	}
}

// plain removes the overstrikes by which letters are bold or underlined on a teletype.
func plain(text string) string {
	var out []rune
	for _, r := range text {
		if r == '\b' {
			out = out[:len(out)-1]
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

// TestPagesAreReproducible proves that the same commands and day give the same bytes.
func TestPagesAreReproducible(t *testing.T) {
	first := pages()
	for range 5 {
		for name, text := range pages() {
			if first[name] != text {
				t.Errorf("%s differs", name)
			}
		}
	}
}

// TestDate proves that the date is that of SOURCE_DATE_EPOCH (reproducible-builds.org), and that an invalid one is
// reported.
func TestDate(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	if d, err := manual.Date(); err != nil || !d.Equal(time.Date(2001, 9, 9, 1, 46, 40, 0, time.UTC)) {
		t.Errorf("%s, %v", d, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := manual.Date(); err == nil || !strings.Contains(err.Error(), "yesterday") {
		t.Errorf("error %v", err)
	}
	if err := os.Unsetenv("SOURCE_DATE_EPOCH"); err != nil {
		t.Fatal(err)
	}
	if d, err := manual.Date(); err != nil || time.Since(d) > time.Hour {
		t.Errorf("%s, %v", d, err)
	}
}
