package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/collector"
)

// factVersions are the versions of slurmrestd's interface that are tried for facts, newest first. Versions before
// 0.0.40 (Slurm 23.11) have no shares, and encode most fields differently.
var factVersions = [...]int{45, 44, 43, 42, 41, 40} //nolint:gochecknoglobals // an array is no constant

// questions returns the queries to slurmrestd that replace Slurm's commands. Each returns records with the columns of
// the command.
func (f *Facts) questions() []*part {
	client := newRestClient(*f.cfg.Rest)
	controller := &restVersion{plugin: "openapi/slurmctld", tried: factVersions[:]}
	database := &restVersion{plugin: "openapi/slurmdbd", tried: factVersions[:]}
	ask := func(v *restVersion, base, list string, parse func(text []byte) (record, error)) func(context.Context) (
		[]entry, error) {
		return func(ctx context.Context) (entries []entry, err error) {
			err = v.with(client, func(version int) error {
				path := fmt.Sprintf("/%s/v0.0.%d/%s", base, version, list)
				return client.get(ctx, path, func(body io.Reader) (err error) {
					entries, err = f.restEntries(body, list, parse)
					return err
				})
			})
			return entries, err
		}
	}
	return []*part{
		{name: "slurmrestd nodes", ask: ask(controller, "slurm", "nodes", restNode), read: f.readNodes},
		{name: "slurmrestd reservations", ask: ask(controller, "slurm", "reservations", restReservation),
			read: f.readReservations},
		{name: "slurmrestd partitions", every: factsEvery, ask: ask(controller, "slurm", "partitions", restPartition),
			read: f.readPartitions},
		{name: "slurmrestd qos", every: factsEvery, ask: ask(database, "slurmdb", "qos", restQOS), read: f.readQOS,
			needed: f.accounts, database: true},
		{name: "slurmrestd associations", every: factsEvery,
			ask: ask(database, "slurmdb", "associations", restAssociation), read: f.readAssociations,
			needed: f.accounts, database: true},
		{name: "slurmrestd shares", every: factsEvery, ask: ask(controller, "slurm", "shares", restShare),
			read: f.readShares, needed: f.accounts},
	}
}

// restMeta has the metadata of the server that is in every answer.
type restMeta struct {
	Plugin struct {
		Storage string `json:"accounting_storage"`
	} `json:"plugin"`
	Slurm struct {
		Release string `json:"release"`
		Cluster string `json:"cluster"`
	} `json:"slurm"`
}

// restEntries parses an answer: the objects of a list, and the metadata of the server.
func (f *Facts) restEntries(body io.Reader, list string, parse func(text []byte) (record, error)) ([]entry, error) {
	var answer map[string]json.RawMessage
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = errors.New("it is cut off")
		}
		return nil, err
	}
	if text, ok := answer["errors"]; ok {
		if err := restErrors(json.NewDecoder(strings.NewReader(string(text)))); err != nil {
			return nil, err
		}
	}
	// Every answer has the metadata. They are read from the answer with the nodes.
	if meta := new(restMeta); list == "nodes" && json.Unmarshal(answer["meta"], meta) == nil {
		f.general.version, f.general.clusterName = meta.Slurm.Release, meta.Slurm.Cluster
		f.general.slurmdbd = meta.Plugin.Storage == slurmdbd
	}
	text, ok := answer[list]
	if !ok {
		return nil, fmt.Errorf("it has no %s", list)
	}
	if inner := map[string]json.RawMessage{}; json.Unmarshal(text, &inner) == nil { // {"shares": {"shares": [...]}}
		text = inner[list]
	}
	var objects []json.RawMessage
	if err := json.Unmarshal(text, &objects); err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(objects))
	for i, object := range objects {
		e := entry{number: int64(i + 1), text: object}
		if e.record, e.err = parse(object); e.record != nil || e.err != nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// restRecord decodes an object into a struct, and returns a record of its columns. The record is nil if columns returns
// nil, for an object that the command does not print.
func restRecord[T any](text []byte, columns func(o *T) map[string]string) (record, error) {
	o := new(T)
	if err := unmarshal(text, o); err != nil {
		return nil, collector.Bad(collector.ReasonField, "", "%w", err)
	}
	values := columns(o)
	if values == nil {
		return nil, nil //nolint:nilnil // an object that the command does not print
	}
	return func(key string) []byte {
		if value, ok := values[key]; ok {
			return []byte(value)
		}
		return nil
	}, nil
}

// restNode converts a node to the columns of sinfo. Like sinfo it leaves out nodes without a partition, and FUTURE
// nodes.
func restNode(text []byte) (record, error) {
	type node struct {
		Name       string     `json:"name"`
		Partitions restWords  `json:"partitions"`
		CPUs       restNumber `json:"cpus"`
		Threads    restNumber `json:"threads"`
		Memory     restNumber `json:"real_memory"` // mebibytes
		Gres       string     `json:"gres"`
		Features   restWords  `json:"features"`
		State      restWords  `json:"state"`
	}
	return restRecord(text, func(o *node) map[string]string {
		if len(o.Partitions) == 0 || slices.Contains(o.State, "FUTURE") {
			return nil
		}
		features := o.Features.list()
		if features == "" {
			features = "(null)"
		}
		return map[string]string{
			"PartitionName": o.Partitions.list(), "NodeList": o.Name, "CPUs": o.CPUs.String(),
			"Memory": o.Memory.String(), "Gres": o.Gres, "Features": features, "Threads": o.Threads.orNone(),
			"StateComplete": strings.Join(o.State, "+"),
		}
	})
}

// restReservation converts a reservation to scontrol's fields.
func restReservation(text []byte) (record, error) {
	type reservation struct {
		Name      string     `json:"name"`
		Start     restNumber `json:"start_time"`
		End       restNumber `json:"end_time"`
		Nodes     string     `json:"node_list"`
		Cores     restNumber `json:"core_count"`
		Partition string     `json:"partition"`
		Flags     restWords  `json:"flags"`
		TRES      restTRES   `json:"tres"`
		Users     restWords  `json:"users"`
		Accounts  restWords  `json:"accounts"`
	}
	return restRecord(text, func(o *reservation) map[string]string {
		return map[string]string{
			"ReservationName": o.Name, "StartTime": o.Start.String(), "EndTime": o.End.String(), "Nodes": o.Nodes,
			"CoreCnt": o.Cores.String(), "PartitionName": o.Partition, "Flags": o.Flags.list(),
			"TRES": string(o.TRES), "Users": o.Users.list(), "Accounts": o.Accounts.list(),
		}
	})
}

// restPartition converts a partition to scontrol's fields. slurmrestd lacks ReqResv and PreemptMode, and before v0.0.45
// ExclusiveUser. From v0.0.45 on, maximums.oversubscribe.jobs has no meaning.
func restPartition(text []byte) (record, error) {
	type names struct {
		Allowed  restWords `json:"allowed"`
		Deny     restWords `json:"deny"`
		Assigned string    `json:"assigned"`
	}
	type memory struct {
		PerCPU  restNumber `json:"partition_memory_per_cpu"`
		PerNode restNumber `json:"partition_memory_per_node"`
	}
	type partition struct {
		Name     string `json:"name"`
		Accounts names  `json:"accounts"`
		QOS      names  `json:"qos"`
		Priority struct {
			Factor restNumber `json:"job_factor"`
			Tier   restNumber `json:"tier"`
		} `json:"priority"`
		Defaults struct {
			memory
			Time restNumber `json:"time"`
		} `json:"defaults"`
		Maximums struct {
			memory
			CPUs          restNumber `json:"cpus_per_node"`
			Nodes         restNumber `json:"nodes"`
			Time          restNumber `json:"time"`
			Oversubscribe struct {
				Jobs  restNumber `json:"jobs"`
				Flags restWords  `json:"flags"`
			} `json:"oversubscribe"`
		} `json:"maximums"`
		Minimums struct {
			Nodes restNumber `json:"nodes"`
		} `json:"minimums"`
		Grace restNumber `json:"grace_time"`
		State struct {
			State         restWords `json:"state"`
			Exclusive     string    `json:"exclusive"`
			Oversubscribe string    `json:"oversubscribe"`
		} `json:"partition"`
	}
	return restRecord(text, func(o *partition) map[string]string {
		share := "NO"
		switch how := o.Maximums.Oversubscribe; {
		case o.State.Exclusive != "":
			share = o.State.Oversubscribe
		case how.Jobs.set && how.Jobs.n == 0:
			share = "EXCLUSIVE"
		case slices.Contains(how.Flags, "force"):
			share = "FORCE:" + how.Jobs.String()
		case how.Jobs.n > 1:
			share = "YES:" + how.Jobs.String()
		}
		return map[string]string{
			"PartitionName": o.Name, "PriorityTier": o.Priority.Tier.orNone(),
			"PriorityJobFactor": o.Priority.Factor.orNone(), "MaxNodes": o.Maximums.Nodes.orNone(),
			"MinNodes": o.Minimums.Nodes.orNone(), "OverSubscribe": share,
			"Exclusive": o.State.Exclusive, "QoS": o.QOS.Assigned,
			"AllowAccounts": o.Accounts.Allowed.list(), "DenyAccounts": o.Accounts.Deny.list(),
			"AllowQos": o.QOS.Allowed.list(), "DenyQos": o.QOS.Deny.list(), "MaxCPUsPerNode": o.Maximums.CPUs.orNone(),
			"GraceTime": o.Grace.orNone(), "DefMemPerCPU": o.Defaults.PerCPU.orNone(),
			"DefMemPerNode": o.Defaults.PerNode.orNone(), "MaxMemPerCPU": o.Maximums.PerCPU.orNone(),
			"MaxMemPerNode": o.Maximums.PerNode.orNone(), "MaxTime": o.Maximums.Time.minutes(),
			"DefaultTime": o.Defaults.Time.minutes(), "State": o.State.State.first(),
		}
	})
}

// restShare converts the share of an account, or of a user in an account, to sshare's columns.
func restShare(text []byte) (record, error) {
	type share struct {
		Name      string     `json:"name"`
		Parent    string     `json:"parent"`
		Type      restWords  `json:"type"`
		Shares    restNumber `json:"shares"`
		Usage     restNumber `json:"usage"`
		FairShare struct {
			Factor restNumber `json:"factor"`
			Level  restNumber `json:"level"`
		} `json:"fairshare"`
	}
	const asParent = 1<<31 - 1 // SLURMDB_FS_USE_PARENT in slurm/slurmdb.h
	return restRecord(text, func(o *share) map[string]string {
		values := map[string]string{
			"Account": o.Name, "RawShares": o.Shares.orNone(), "RawUsage": o.Usage.orNone(),
			"FairShare": o.FairShare.Factor.orNone(), "LevelFS": o.FairShare.Level.orNone(),
		}
		if slices.Contains(o.Type, "USER") {
			values["Account"], values["User"] = o.Parent, o.Name
		}
		if o.Shares.n == asParent {
			values["RawShares"] = "parent"
		}
		return values
	})
}
