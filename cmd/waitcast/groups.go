package main

import (
	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/offline"
)

// addGroup adds commands under their own title in the help text.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
	}
	root.AddCommand(commands...)
}

// addCommands adds all subcommands. They are grouped by the kind of user.
func addCommands(root *cobra.Command, a *app) {
	addGroup(root, "ask", "Ask the daemon:", newWait(a), newWhere(a), newWhen(a), newSize(a), newNow(a), newQueues(a),
		newForecast(a), newMe(a), newJobs(a), newWatch(a), newAccuracy(a), newHistory(a), newModels(a))
	addGroup(root, "admin", "For administrators of the daemon:", newStatus(a), newImport(a), newQuarantine(a),
		newLogLevel(a), newToken(a), newStore(a))
	addGroup(root, "files", "Work on workload files (SWF), without a daemon:",
		offline.New(&a.Console, a.client, &a.timeout)...)
}
