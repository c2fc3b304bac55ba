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
				{Term: "WAITCAST_URL", Text: "Address of the daemon, where --url does not tell it."},
			}},
			{Title: "EXIT STATUS", List: []manual.Item{
				{Term: "0", Text: "Done."},
				{Term: "1", Text: "Failed."},
				{Term: "2", Text: "Wrong usage."},
				{Term: "3", Text: "No forecast is possible; it says why, and what would help."},
				{Term: "4", Text: "The data is stale; the answer is printed all the same."},
			}},
		},
	}
	return m.Commands(root), nil
}
