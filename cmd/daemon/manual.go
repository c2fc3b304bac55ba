package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/internal/manual"
)

// manualPages returns the manual pages of the daemon and of its configuration file.
func manualPages(root *cobra.Command, date time.Time) (map[string]string, error) {
	daemon := manual.Manual{
		Section: 8, Date: date, SeeAlso: []string{"waitcast(1)", "waitcastd.yaml(5)"},
		More: []manual.Part{
			{Title: "ENVIRONMENT", Text: "Each key of the configuration outside lists can be set by a variable: " +
				"store.path by WAITCAST_STORE_PATH. " +
				"$STATE_DIRECTORY, which systemd sets, is where data is kept unless data_dir says otherwise. " +
				"$NOTIFY_SOCKET and $WATCHDOG_USEC are systemd's: see sd_notify in its manual."},
			{Title: "FILES", List: []manual.Item{
				{Term: "/etc/waitcast/waitcastd.yaml", Text: "The configuration that the service starts with."},
				{Term: "/var/lib/waitcast/waitcast.db",
					Text: "The database: journal, models, accuracy of past forecasts."},
				{Term: "/var/lib/waitcast/admin-token",
					Text: "The token of administrators, for waitcast import and waitcast quarantine."},
			}},
			{Title: "EXIT STATUS", List: []manual.Item{
				{Term: "0", Text: "Stopped in order."},
				{Term: "1", Text: "Failed."},
				{Term: "2", Text: "Wrong usage of a subcommand. The daemon itself ends with 2 only after a bug in it " +
					"(a panic): systemd starts it again."},
				{Term: "78", Text: "Wrong usage of the daemon, or a mistake in its configuration: each is reported " +
					"with its line. systemd does not start the daemon again."},
			}},
		},
	}
	pages := daemon.Commands(root)
	file := manual.Manual{Section: 5, Date: date, SeeAlso: []string{"waitcastd(8)"}}
	var keys []manual.Key
	for _, k := range config.Reference() {
		keys = append(keys, manual.Key{Name: k.Key, Doc: k.Doc, Allowed: k.Allowed, Default: k.Default, Env: k.Env,
			Flag: k.Flag})
	}
	pages["waitcastd.yaml.5"] = file.File("waitcastd.yaml", "configuration of waitcastd",
		manual.Part{Title: "DESCRIPTION", Text: "The file is YAML. It is read strictly: an unknown key, a wrong type " +
			"or an impossible value keeps the daemon from starting, " +
			"and every mistake is reported with its line. Every key has a default except the logs of the " +
			"clusters:\n\n" +
			"  clusters:\n    - sources:\n        - format: slurm-log\n          path: " +
			"/var/log/slurm/slurmctld.log\n\n" +
			"A setting is taken from the first that has it: a flag, an environment variable, the file, the default."},
		manual.Part{Title: "KEYS", Text: "[] stands for each entry of a list.", List: manual.Keys(keys)})
	return pages, nil
}
