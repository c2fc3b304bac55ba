package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestAbsurdNumbersAreWrongUsage calls every command with each of its numeric flags set to a value that is NaN,
// infinite or absurd. The exit code must be 2, the message must name the flag, and the command must read nothing
// before.
func TestAbsurdNumbersAreWrongUsage(t *testing.T) {
	flags := 0
	for _, c := range below(newRoot(&app{env: func(string) string { return "" }})) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "float64" {
				return
			}
			flags++
			for _, x := range []string{"NaN", "Inf", "-Inf", "1e999", "1e300", "-1e300"} {
				args := append(strings.Fields(strings.TrimPrefix(c.CommandPath(), "waitcast ")), "--"+f.Name+"="+x)
				if strings.Contains(c.Use, "TRACE") || strings.Contains(c.Use, "LOG") {
					args = append(args, "none.swf")
				}
				if c.Name() == "study" {
					args = append(args, "--out", "none.csv")
				}
				r := runWith("", args...)
				if r.code != exitUsage || !strings.Contains(r.stderr, f.Name) ||
					strings.Contains(r.stderr, "none.swf") {
					t.Errorf("%q: exit %d, %s", args, r.code, r.stderr)
				}
			}
		})
	}
	if flags < 15 {
		t.Errorf("only %d flags take numbers", flags)
	}
}

// TestAbsurdNumbersInTexts does the same as TestAbsurdNumbersAreWrongUsage for numbers that are part of a text.
func TestAbsurdNumbersInTexts(t *testing.T) {
	for flag, values := range map[string][]string{
		"study none.swf --out none.csv --load": {"NaN", "Inf", "0.1,NaN", "0.1:NaN:0.1",
			"0.1:0.5:NaN", "1e300", "-1"},
		"study none.swf --out none.csv --shakes 1 --shake-degree": {"NaN", "Inf", "1e300", "-1"},
		"shake none.swf --degree":                                 {"NaN", "Inf", "1e300", "-1"},
		"shake none.swf --attribute size --degree":                {"NaN", "Inf", "1e300", "-1"},
		"resample none.swf --favor":                               {"wide=NaN", "wide=Inf", "wide=1e300", "wide=-1"},
		"size --amdahl":                                           {"NaN,1h", "0.1,NaN", "Inf,1h", "1e300,1h"},
		"size --downey": {"NaN,0.5,1h", "4,NaN,1h", "Inf,1,1h", "1e300,1,1h",
			"4,1e300,1h"},
		"size --runtime":                   {"1:NaN,2:1h", "1:Inf,2:1h", "1:1e300,2:1h"},
		"size --runtime 1:1h,2:40m --time": {"NaNx", "Infx", "1e300x"},
	} {
		for _, x := range values {
			args := append(strings.Fields(flag), x)
			name := args[len(args)-2]
			r := runWith("", args...)
			if r.code != exitUsage || !strings.Contains(r.stderr, name) {
				t.Errorf("%q: exit %d, want %d and %s: %s", args, r.code, exitUsage, name, r.stderr)
			}
		}
	}
}
