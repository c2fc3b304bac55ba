package slurm

import (
	"bytes"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/collector"
)

// SacctColumns are the columns to request from sacct (--format). The name comes last because sacct does not escape it.
const SacctColumns = "Submit,JobIDRaw,JobID,User,Account,Partition,QOS,State,Eligible,Start,End,TimelimitRaw,ReqCPUS," +
	"AllocCPUS,ReqNodes,NNodes,Priority,NodeList,JobName"

// plainColumns are the columns that earlier versions of waitcast requested, without priorities.
const plainColumns = "Submit,JobIDRaw,JobID,User,Account,Partition,QOS,State,Eligible,Start,End,TimelimitRaw,ReqCPUS," +
	"AllocCPUS,ReqNodes,NNodes,NodeList,JobName"

// These are the columns that Open XDMoD asks sites to dump for its shredder, without a header and in UTC
// (open.xdmod.org, "Resource Manager Notes: Slurm"; classes/OpenXdmod/Shredder/Slurm.php). Version 10 added qos. Before
// version 9.5 reqgres and reqtres stood in the places of reqtres and alloctres. Dumps of both orders are read in the
// new order; a list without "=" is then skipped.
const (
	xdmodColumns = "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end," +
		"elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
	xdmodOldColumns = "jobid,jobidraw,cluster,partition,account,group,gid,user,uid,submit,eligible,start,end,elapsed," +
		"exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
)

// column is one of the used columns.
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
	elapsed
	elapsedRaw
	submitLine
	columns // number of columns
)

// columnOf maps names in a header line (sacct(1)) to columns.
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

// amountColumnOf maps the names of the columns of amounts, of the list of nodes and of the cluster.
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
	case "elapsed":
		return elapsed
	case "elapsedraw":
		return elapsedRaw
	case "submitline":
		return submitLine
	}
	return other
}

// isFreeText reports whether a column that is not used has text of users.
func isFreeText(name string) bool {
	switch strings.ToLower(name) {
	case "comment", "admincomment", "systemcomment", "workdir", "extra", "stdin", "stdout", "stderr", "wckey":
		return true
	}
	return false
}

// sacctForm is the order of the columns of a dump.
type sacctForm struct {
	layout []column
	free   []int // indexes of the columns with text of users, which may contain the separator
	// separator stands between fields. It is "|" unless the dump has another one (sacct --delimiter).
	separator []byte
	// utc is true if the guide that defines this form requires UTC.
	utc bool
}

// newSacctForm parses the names of columns. If lines end with "|" (sacct -p), the last name is empty. The error names
// the first required column that is missing; the form can split rows even then.
func newSacctForm(names, separator string) (sacctForm, error) {
	form := sacctForm{separator: []byte("|")}
	var seen [columns]bool
	for word := range strings.SplitSeq(names, separator) {
		word, _, _ = strings.Cut(strings.TrimSpace(word), "%") // sacct may write a width after the name: "jobname%80"
		c := columnOf([]byte(word))
		if c == jobName || c == submitLine || isFreeText(word) {
			form.free = append(form.free, len(form.layout))
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

// wellKnownForms are the forms that are recognized without a header, waitcast's own first.
func wellKnownForms() []sacctForm {
	var forms []sacctForm
	for _, known := range [...]struct {
		names string
		utc   bool
	}{{SacctColumns, false}, {plainColumns, false}, {xdmodColumns, true}, {xdmodOldColumns, true}} {
		form, _ := newSacctForm(known.names, ",") // these forms are complete, so that no error is possible
		form.utc = known.utc
		forms = append(forms, form)
	}
	return forms
}

// fits reports whether a row seems to have this form: times, state and priority are in their columns.
func (s *sacctForm) fits(line []byte) bool {
	if bytes.Count(line, s.separator)+1 < len(s.layout) {
		return false
	}
	for _, c := range s.layout {
		length := s.fieldLength(line)
		if !c.mayBe(line[:length]) {
			return false
		}
		line = line[min(length+len(s.separator), len(line)):]
	}
	return true
}

// mayBe reports whether a text looks like a value of the column.
func (c column) mayBe(value []byte) bool {
	switch c {
	case submit:
		return looksLikeTime(value)
	case start, end:
		return looksLikeTime(value) || isDigitless(value)
	case state:
		return len(value) > 0 && value[0] >= 'A' && value[0] <= 'Z' && !looksLikeTime(value)
	case priority:
		return isDigits(value)
	}
	return true
}

// fieldLength returns the length of the first field of a line.
func (s *sacctForm) fieldLength(line []byte) int {
	if i := bytes.Index(line, s.separator); i >= 0 {
		return i
	}
	return len(line)
}

// looksLikeTime reports whether a text begins like a date, or looks like Unix seconds.
func looksLikeTime(text []byte) bool {
	if len(text) >= len("2006-01-02T") && text[4] == '-' && text[10] == 'T' {
		return true
	}
	return len(text) > 0 && isDigits(text)
}

// isDigits reports whether a text is empty or consists of digits.
func isDigits(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return !isDigit(c) })
}

// isDigitless reports whether a text has no digit. The texts for an unknown time have none: "Unknown", "None" and "".
func isDigitless(text []byte) bool { return !slices.ContainsFunc(text, isDigit) }

// headerSeparator returns the text between the names in a header, "" for a line that is no header. Most words of a
// header, at least two, are names of columns. The separator is "|", or else the text after the first name.
func headerSeparator(line []byte) string {
	if len(line) == 0 || isDigit(line[0]) {
		return ""
	}
	if isHeaderOf(line, "|") {
		return "|"
	}
	name := nameLength(line)
	if columnOf(line[:name]) == other {
		return ""
	}
	rest := line[name:]
	if len(rest) > 0 && rest[0] == '%' {
		rest = bytes.TrimLeft(rest[1:], "-0123456789")
	}
	end := 0
	for end < len(rest) && nameLength(rest[end:]) == 0 {
		end++
	}
	separator := string(rest[:end])
	const longest = 8
	if len(strings.Trim(separator, " ")) == 0 || end > longest || !isHeaderOf(line, separator) {
		return ""
	}
	return separator
}

func nameLength(line []byte) int {
	n := 0
	for n < len(line) && (line[n]|0x20 >= 'a' && line[n]|0x20 <= 'z') {
		n++
	}
	return n
}

func isHeaderOf(line []byte, separator string) bool {
	known := 0
	for word := range bytes.SplitSeq(line, []byte(separator)) {
		word, _, _ = bytes.Cut(word, []byte("%"))
		if columnOf(word) != other {
			known++
		}
	}
	return known >= 2 && 2*known > bytes.Count(line, []byte(separator))
}

// CheckSacctColumns returns an error if a list of column names, separated by commas, cannot be used for a dump.
func CheckSacctColumns(names string) error {
	_, err := newSacctForm(names, ",")
	return err
}
