package grafana

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// These packages contain Grafana's types and the compiler.
const (
	schemaPackage   = "@grafana/schema@13.2.3"
	compilerPackage = "typescript@5.9.3"
)

// typesHead begins the program that the compiler checks. In JSON Grafana's enums are strings and numbers; the type
// Plain expresses this. The compiler also refuses members of objects that the types do not know.
//
//nolint:lll // the names of its modules are that long
const typesHead = `import type { Dashboard, FieldConfigSource, Panel, RowPanel, VariableModel } from '@grafana/schema';
import type { Options as TimeSeriesOptions, FieldConfig as TimeSeriesField } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { Options as HeatmapOptions, FieldConfig as HeatmapField } from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type { Options as TableOptions, FieldConfig as TableField } from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';

type Plain<T> = unknown extends T ? T
  : T extends string ? (string extends T ? string : ` + "`${T}`" + `)
  : T extends number | boolean | null | undefined ? T
  : T extends Array<infer U> ? Array<Plain<U>>
  : { [K in keyof T]: Plain<T[K]> };
`

// typeScript returns a program that contains a dashboard's JSON with a type for everything.
func typeScript(t *testing.T, d *saved) string {
	t.Helper()
	var raw struct {
		Panels []struct {
			Type        string          `json:"type"`
			Options     json.RawMessage `json:"options"`
			FieldConfig json.RawMessage `json:"fieldConfig"`
		} `json:"panels"`
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal([]byte(d.text), &raw); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(d.text), &whole); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString(typesHead)
	fmt.Fprintf(&out, "export const whole: Plain<Dashboard> = %s;\n", d.text)
	var panels []json.RawMessage
	if err := json.Unmarshal(whole["panels"], &panels); err != nil {
		t.Fatal(err)
	}
	names := map[string][2]string{
		"timeseries": {"TimeSeriesOptions", "TimeSeriesField"}, "stat": {"StatOptions", "Record<string, never>"},
		"heatmap": {"HeatmapOptions", "HeatmapField"}, "table": {"TableOptions", "TableField"},
	}
	for i, p := range raw.Panels {
		if p.Type == "row" {
			fmt.Fprintf(&out, "export const p%d: Plain<RowPanel> = %s;\n", i, panels[i])
			continue
		}
		name, ok := names[p.Type]
		if !ok {
			t.Fatalf("%s: no types for panels of type %s", d.Title, p.Type)
		}
		fmt.Fprintf(&out, "export const p%d: Plain<Panel> = %s;\n", i, panels[i])
		fmt.Fprintf(&out, "export const o%d: Plain<%s> = %s;\n", i, name[0], p.Options)
		fmt.Fprintf(&out, "export const f%d: Plain<FieldConfigSource<%s>> = %s;\n", i, name[1], p.FieldConfig)
	}
	return out.String()
}

// TestTypes proves that the dashboards have the types that Grafana publishes for its JSON: dashboards, panels, and the
// options of each kind of panel.
func TestTypes(t *testing.T) {
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("WAITCAST_LONG is not set: it fetches Grafana's types")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is missing")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	if out, err := run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, schemaPackage,
		compilerPackage); err != nil {
		t.Skipf("Grafana's types cannot be fetched: %v\n%s", err, out)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tsc := func(name string) ([]byte, error) {
		return run(filepath.Join(dir, "node_modules", ".bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck",
			"--module", "esnext", "--moduleResolution", "bundler", name)
	}
	boards := load(t)
	for name, d := range boards {
		file := strings.TrimSuffix(name, ".json") + ".ts"
		write(file, typeScript(t, d))
		if out, err := tsc(file); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	// A wrong type must not pass.
	bad := *boards["overview.json"]
	bad.text = strings.Replace(bad.text, `"graphMode": "area"`, `"graphMode": "no such mode"`, 1)
	write("bad.ts", typeScript(t, &bad))
	if _, err := tsc("bad.ts"); err == nil || bad.text == boards["overview.json"].text {
		t.Error("an option that there is not passes")
	}
}
