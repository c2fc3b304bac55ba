package slurm

import (
	"bytes"
	"context"
	"strings"

	"github.com/waitcast/waitcast/collector"
)

// commands returns the queries that run Slurm's commands.
func (f *Facts) commands() []*part {
	ask := f.runCommand
	return append(f.rightsParts(), []*part{
		{name: "sinfo", ask: ask(sinfoCommand(), lines(sinfoRecord)), read: f.readNodes},
		{name: "scontrol show reservation", ask: ask(scontrol("reservation"), lines(wordsRecord)),
			read: f.readReservations},
		{name: "scontrol show partition", every: factsEvery, ask: ask(scontrol("partition"), lines(wordsRecord)),
			read: f.readPartitions},
		{name: "sacctmgr show qos", every: factsEvery, ask: ask(sacctmgrCommand("qos", qosFields[:]),
			lines(barred(qosFields[:]))), read: f.readQOS, needed: f.accounts, database: true},
		{name: "sacctmgr show assoc", every: factsEvery, ask: ask(sacctmgrCommand("assoc", assocFields[:]),
			lines(barred(assocFields[:]))), read: f.readAssociations, needed: f.accounts, database: true},
		{name: "sshare", every: factsEvery, ask: ask([]string{"sshare", "--all", "--noheader", "--parsable2",
			"--format=" + strings.Join(shareFields[:], ",")}, lines(barred(shareFields[:]))), read: f.readShares,
			needed: f.shared},
	}...)
}

// scontrol returns the call of scontrol that shows something.
func scontrol(what string) []string { return []string{"scontrol", "--all", "--oneliner", "show", what} }

// runCommand returns a function that runs a command and makes entries from its output.
func (f *Facts) runCommand(
	args []string, entries func(output []byte) []entry,
) func(context.Context) ([]entry, error) {
	return func(ctx context.Context) ([]entry, error) {
		output, err := f.cfg.Run(ctx, args)
		if err != nil {
			return nil, err
		}
		return entries(output), nil
	}
}

// lines returns a function that makes an entry from each line of an output, except empty lines and noReservations.
func lines(parse func(line []byte) (record, error)) func(output []byte) []entry {
	return func(output []byte) (all []entry) {
		n := int64(0)
		for line := range bytes.Lines(output) {
			n++
			if line = bytes.TrimSpace(line); len(line) == 0 || bytes.HasPrefix(line, []byte(noReservations)) {
				continue
			}
			e := entry{number: n, text: line}
			e.record, e.err = parse(line)
			all = append(all, e)
		}
		return all
	}
}

// noReservations is scontrol's output if there are no reservations.
const noReservations = "No reservations in the system"

// settings makes one record from all lines of the form "key = value". It skips other lines.
func settings(output []byte) []entry {
	values := map[string][]byte{}
	for line := range bytes.Lines(output) {
		if key, value, ok := bytes.Cut(line, []byte("=")); ok {
			values[string(bytes.TrimSpace(key))] = bytes.TrimSpace(value)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return []entry{{number: 1, record: func(key string) []byte { return values[key] }}}
}

// cellsRecord returns a record in which each value has the name at the same place in names.
func cellsRecord(names []string, values [][]byte) record {
	return func(key string) []byte {
		for i, name := range names {
			if name == key {
				return values[i]
			}
		}
		return nil
	}
}

// wordsRecord makes a record from words "key=value".
func wordsRecord(line []byte) (record, error) {
	return func(key string) []byte {
		for word := range bytes.FieldsSeq(line) {
			if value, ok := bytes.CutPrefix(word, []byte(key)); ok && len(value) > 0 && value[0] == '=' {
				return value[1:]
			}
		}
		return nil
	}, nil
}

// barred returns a function that makes a record from a line of sacctmgr or sshare, with fields separated by "|".
func barred(fields []string) func(line []byte) (record, error) {
	return func(line []byte) (record, error) {
		got := bytes.Split(line, []byte("|"))
		if len(got) != len(fields) {
			return nil, collector.Bad(collector.ReasonFormat, "", "want %d fields with bars between them, got %q",
				len(fields), shorten(line))
		}
		for i := range got {
			got[i] = bytes.TrimSpace(got[i])
		}
		return cellsRecord(fields, got), nil
	}
}

// sinfoRecord makes a record from a line of sinfo.
func sinfoRecord(line []byte) (record, error) {
	fields := bytes.Split(line, []byte(squeueSeparator))
	if len(fields) != len(sinfoFields)+1 || len(fields[len(sinfoFields)]) > 0 {
		return nil, collector.Bad(collector.ReasonFormat, "",
			"want %d fields, each with the separator 0x1f after it, got %d: not what this call of sinfo prints",
			len(sinfoFields), len(fields)-1)
	}
	for i := range fields {
		fields[i] = bytes.TrimSpace(fields[i])
	}
	return cellsRecord(sinfoFields[:], fields), nil
}

// sacctmgrCommand returns the call of sacctmgr for some columns.
func sacctmgrCommand(what string, fields []string) []string {
	return []string{"sacctmgr", "--noheader", "--parsable2", "--readonly", "show", what,
		"format=" + strings.Join(fields, ",")}
}
