package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/internal/manual"
)

// manualPages returns the manual pages of the command and its subcommands.
func manualPages(root *cobra.Command, date time.Time) (map[string]string, error) {
	m := manual.Manual{
		Section: 1, Date: date, SeeAlso: []string{"waitcastd(8)"},
		More: []manual.Part{
			{Title: "ENVIRONMENT", List: []manual.Item{
				{Term: "WAITCAST_URL", Text: "Address of the daemon, if --url is not given."},
				{Term: unitVariable, Text: "Unit of a time limit that is a number alone: s, m or h. Without it such " +
					"a limit is refused."},
			}},
			{Title: "EXIT STATUS", List: []manual.Item{
				{Term: "0", Text: "Done."},
				{Term: "1", Text: "Failed."},
				{Term: "2", Text: "Wrong usage."},
				{Term: "3", Text: "No forecast is possible; the message has the reason, and what would help."},
				{Term: "4", Text: "The data is stale; the answer is still printed."},
			}},
		},
	}
	return m.Commands(root), nil
}
