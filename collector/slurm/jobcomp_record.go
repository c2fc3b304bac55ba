package slurm

import (
	"bytes"
	"strconv"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
)

// jobcompRecord is one parsed record. The slices point into the line.
//
// The keys of a record have a fixed order (JOB_FORMAT), but two values may contain any text, even keys: the job's Name
// and its WorkDir. So the record is parsed forwards up to the name, and backwards from the end to the reservation. The
// keys between name and directory are taken from the last place in the record where they all follow each other.
type jobcompRecord struct {
	id                                     string
	user, name, state, partition, nodeList []byte
	timeLimit, start, end                  []byte
	nodes, procs                           int64
	tres, account, qos, submit, eligible   []byte
}

func (r *jobcompRecord) split(text []byte) error {
	*r = jobcompRecord{}
	raw, rest, ok := r.front(text)
	if !ok {
		return errRecord("Name", "want \"JobId=N UserId=NAME(N) GroupId=NAME(N) Name=\" in front")
	}
	if rest, ok = r.tail(rest, raw); !ok {
		return errRecord("ExitCode", "the keys from ReservationName to ExitCode are not all there, in their order")
	}
	name, tried := -1, -1
	for from := 0; ; from = tried + 1 { // faster forwards than backwards: there is nearly always exactly one match
		i := bytes.Index(rest[from:], []byte(" JobState="))
		if i < 0 {
			break
		}
		tried = from + i
		if r.middle(rest[tried+1:]) {
			name = tried
		}
	}
	if name < 0 {
		return errRecord("JobState", "the keys from JobState to WorkDir are not all there, in their order")
	}
	if name < tried {
		r.middle(rest[name+1:])
	}
	r.name = rest[:name]
	return nil
}

func errRecord(field, want string) error {
	return collector.Bad(collector.ReasonField, field, "%s", want)
}

// front parses the record up to the name, and returns the job's own number and the text after "Name=".
func (r *jobcompRecord) front(text []byte) (raw int64, rest []byte, ok bool) {
	if rest, ok = bytes.CutPrefix(text, []byte("JobId=")); !ok {
		return 0, nil, false
	}
	raw, rest, _ = leadingNumber(rest)
	if rest, ok = bytes.CutPrefix(rest, []byte(" UserId=")); !ok || raw == 0 {
		return 0, nil, false
	}
	user, rest, ok := bytes.Cut(rest, []byte(" GroupId="))
	if !ok {
		return 0, nil, false
	}
	if i := bytes.LastIndexByte(user, '('); i >= 0 {
		user = user[:i]
	}
	r.user = user
	_, rest, ok = bytes.Cut(rest, []byte(" Name="))
	return raw, rest, ok
}

// tail parses the keys at the end, backwards, and returns the text before them.
func (r *jobcompRecord) tail(rest []byte, raw int64) ([]byte, bool) {
	_, rest, ok := lastKey(rest, "ExitCode=")
	if ok {
		_, rest, ok = lastKey(rest, "DerivedExitCode=")
	}
	if !ok {
		return nil, false
	}
	r.id = strconv.FormatInt(raw, 10)
	rest = r.part(rest, raw, '+', "HetJobId=", "HetJobOffset=")
	rest = r.part(rest, raw, '_', "ArrayJobId=", "ArrayTaskId=")
	var ignored []byte
	for _, key := range [...]struct {
		name string
		to   *[]byte
	}{
		{"EligibleTime=", &r.eligible}, {"SubmitTime=", &r.submit}, {"Cluster=", &ignored}, {"WcKey=", &ignored},
		{"QOS=", &r.qos}, {"Account=", &r.account}, {"Tres=", &r.tres}, {"ReservationName=", &ignored},
	} {
		if *key.to, rest, ok = lastKey(rest, key.name); !ok {
			return nil, false
		}
	}
	return rest, true
}

// part parses the two optional keys of a task of an array or a component of a heterogeneous job. If they are there, it
// sets the id of the record, and returns the text before the keys. Otherwise it returns rest.
func (r *jobcompRecord) part(rest []byte, raw int64, sep byte, wholeKey, indexKey string) []byte {
	indexText, before, ok := lastKey(rest, indexKey)
	if !ok {
		return rest
	}
	wholeText, before, ok := lastKey(before, wholeKey)
	index, okIndex := logtext.Digits(indexText)
	whole, okWhole := logtext.Digits(wholeText)
	if !ok || !okIndex || !okWhole {
		return rest
	}
	r.id = TaskID(raw, whole, sep, index)
	return before
}

// lastKey cuts off the last word, which must be the given key with its value.
func lastKey(text []byte, key string) (value, rest []byte, ok bool) {
	i := bytes.LastIndexByte(text, ' ')
	if i < 0 {
		return nil, text, false
	}
	word := text[i+1:]
	if len(word) < len(key) || string(word[:len(key)]) != key {
		return nil, text, false
	}
	return word[len(key):], text[:i], true
}

// middle parses the keys between name and directory, and reports whether all are there. If one is missing, the fields
// of those before it are set nevertheless.
func (r *jobcompRecord) middle(text []byte) bool {
	var nodes, procs []byte
	for _, key := range [...]struct {
		name string
		to   *[]byte
	}{
		{"JobState=", &r.state}, {"Partition=", &r.partition}, {"TimeLimit=", &r.timeLimit}, {"StartTime=", &r.start},
		{"EndTime=", &r.end}, {"NodeList=", &r.nodeList}, {"NodeCnt=", &nodes}, {"ProcCnt=", &procs},
	} {
		if len(text) < len(key.name) || string(text[:len(key.name)]) != key.name {
			return false
		}
		text = text[len(key.name):]
		i := bytes.IndexByte(text, ' ')
		if i < 0 {
			return false
		}
		*key.to, text = text[:i], text[i+1:]
	}
	var okNodes, okProcs bool
	r.nodes, okNodes = logtext.Digits(nodes)
	r.procs, okProcs = logtext.Digits(procs)
	return okNodes && okProcs && bytes.HasPrefix(text, []byte("WorkDir="))
}
