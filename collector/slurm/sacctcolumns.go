package slurm

import (
	"bytes"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/collector"
)

// SacctColumns is what to ask sacct for (--format). The name comes last, since sacct does not escape what stands in it.
const SacctColumns = "Submit,JobIDRaw,JobID,User,Account,Partition,QOS,State,Eligible,Start,End,TimelimitRaw,ReqCPUS," +
	"AllocCPUS,ReqNodes,NNodes,Priority,NodeList,JobName"

// plainColumns are those that were asked for before priorities were read.
const plainColumns = "Submit,JobIDRaw,JobID,User,Account,Partition,QOS,State,Eligible,Start,End,TimelimitRaw,ReqCPUS," +
	"AllocCPUS,ReqNodes,NNodes,NodeList,JobName"

// The columns that Open XDMoD asks sites to dump for its shredder, without a header and in UTC
// (open.xdmod.org, "Resource Manager Notes: Slurm"; classes/OpenXdmod/Shredder/Slurm.php). Version 10 added qos. Before
// version 9.5 reqgres and reqtres stood in place of reqtres and alloctres; those are read as if they were the latter:
// a list without "=" is passed over.
const (
	xdmodColumns = "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end," +
		"elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
	xdmodOldColumns = "jobid,jobidraw,cluster,partition,account,group,gid,user,uid,submit,eligible,start,end,elapsed," +
		"exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
)

// column is one of the columns that are used.
type column uint8

const (
	other column = iota
	jobIDRaw
	jobID
	jobName
	user
	account
	partition
	qos
	state
	submit
	eligible
	start
	end
	timelimitRaw
	timelimit
	reqCPUs
	allocCPUs
	nCPUs
	reqNodes
	nNodes
	priority
	nodeList
	reqTRES
	allocTRES
	clusterName
	columns // how many there are
)

// columnOf knows the columns by their names in a header line, sacct(1).
func columnOf(name []byte) column {
	switch strings.ToLower(string(name)) {
	case "jobidraw":
		return jobIDRaw
	case "jobid":
		return jobID
	case "jobname":
		return jobName
	case "user":
		return user
	case "account":
		return account
	case "partition":
		return partition
	case "qos":
		return qos
	case "state":
		return state
	case "submit":
		return submit
	case "eligible":
		return eligible
	case "start":
		return start
	case "end":
		return end
	}
	return amountColumnOf(name)
}

// amountColumnOf knows the columns of amounts, and the list of nodes.
func amountColumnOf(name []byte) column {
	switch strings.ToLower(string(name)) {
	case "timelimitraw":
		return timelimitRaw
	case "timelimit":
		return timelimit
	case "reqcpus":
		return reqCPUs
	case "alloccpus":
		return allocCPUs
	case "ncpus":
		return nCPUs
	case "reqnodes":
		return reqNodes
	case "nnodes", "allocnodes":
		return nNodes
	case "priority":
		return priority
	case "nodelist":
		return nodeList
	case "reqtres":
		return reqTRES
	case "alloctres":
		return allocTRES
	case "cluster":
		return clusterName
	}
	return other
}

// sacctForm is the order of the columns of a dump.
type sacctForm struct {
	layout []column
	nameAt int // the place of the job's name in the layout, -1 for none
	// utc is true where the guide that asks for this form asks for UTC, too.
	utc bool
}

// newSacctForm reads the names of columns. Where each line ends with a "|" (sacct -p), the last one is empty. The error
// names what is missing; the form is of use for splitting rows all the same.
func newSacctForm(names, separator string) (sacctForm, error) {
	form := sacctForm{nameAt: -1}
	var seen [columns]bool
	for word := range strings.SplitSeq(names, separator) {
		word, _, _ = strings.Cut(strings.TrimSpace(word), "%") // sacct's own notation of a width, "jobname%80"
		c := columnOf([]byte(word))
		if c == jobName {
			form.nameAt = len(form.layout)
		}
		seen[c] = true
		form.layout = append(form.layout, c)
	}
	needed := [...]struct {
		name string
		ok   bool
	}{
		{"JobID or JobIDRaw", seen[jobID] || seen[jobIDRaw]}, {"State", seen[state]}, {"Submit", seen[submit]},
		{"Start", seen[start]}, {"End", seen[end]},
		{"AllocCPUS, NCPUS or ReqCPUS", seen[allocCPUs] || seen[nCPUs] || seen[reqCPUs]},
	}
	for _, need := range needed {
		if !need.ok {
			return form, collector.Bad(collector.ReasonFormat, "header", "no column %s: dump again with --format=%s",
				need.name, SacctColumns)
		}
	}
	return form, nil
}

// wellKnownForms are those in which a dump without a header is recognized, ours first.
func wellKnownForms() []sacctForm {
	var forms []sacctForm
	for _, known := range [...]struct {
		names string
		utc   bool
	}{{SacctColumns, false}, {plainColumns, false}, {xdmodColumns, true}, {xdmodOldColumns, true}} {
		form, _ := newSacctForm(known.names, ",") // they are complete
		form.utc = known.utc
		forms = append(forms, form)
	}
	return forms
}

// fits reports whether a row looks as if it had this form: the instants, the state and the priority stand where they
// belong.
func (s *sacctForm) fits(line []byte) bool {
	if bytes.Count(line, []byte("|"))+1 < len(s.layout) {
		return false
	}
	for _, c := range s.layout {
		length := fieldLength(line)
		value := line[:length]
		switch {
		case c == submit && !looksLikeTime(value):
			return false
		case (c == start || c == end) && !looksLikeTime(value) && !isDigitless(value):
			return false
		case c == state && (len(value) == 0 || value[0] < 'A' || value[0] > 'Z' || looksLikeTime(value)):
			return false
		case c == priority && !isDigits(value):
			return false
		}
		line = line[min(length+1, len(line)):]
	}
	return true
}

// looksLikeTime reports whether a text begins like a date, or is a number of seconds since 1970.
func looksLikeTime(text []byte) bool {
	if len(text) >= len("2006-01-02T") && text[4] == '-' && text[10] == 'T' {
		return true
	}
	return len(text) > 0 && isDigits(text)
}

// isDigits recognizes a number, and nothing.
func isDigits(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return !isDigit(c) })
}

// isDigitless recognizes the words for an instant that is not known: "Unknown", "None", nothing.
func isDigitless(text []byte) bool { return !slices.ContainsFunc(text, isDigit) }

// isHeader recognizes a header line: most of its words are names of columns. A row mostly begins with a digit.
func isHeader(line []byte) bool {
	if len(line) == 0 || isDigit(line[0]) {
		return false
	}
	known := 0
	for word := range bytes.SplitSeq(line, []byte("|")) {
		if columnOf(word) != other {
			known++
		}
	}
	return known >= 2 && 2*known > bytes.Count(line, []byte("|"))
}

// CheckSacctColumns returns an error if names of columns, separated by commas, are of no use for a dump.
func CheckSacctColumns(names string) error {
	_, err := newSacctForm(names, ",")
	return err
}
