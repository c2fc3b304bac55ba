package slurm

// restPer has the values of a limit per QOS, job, node, account and user.
type restPer[T any] struct {
	QOS     T `json:"qos"`
	Job     T `json:"job"`
	Node    T `json:"node"`
	Account T `json:"account"`
	User    T `json:"user"`
}

// restQOS converts a QOS to sacctmgr's columns. GrpSubmit and GrpTRESMins exist since data parser 0.0.42.
func restQOS(text []byte) (record, error) {
	type per[T any] struct {
		Per restPer[T] `json:"per"`
	}
	type qos struct {
		Name   string    `json:"name"`
		Flags  restWords `json:"flags"`
		Limits struct {
			Grace restNumber `json:"grace_time"` // seconds
			Max   struct {
				Active struct {
					Count restNumber `json:"count"`
				} `json:"active_jobs"`
				Jobs struct {
					Count  restNumber      `json:"count"`
					Active per[restNumber] `json:"active_jobs"`
					per[restNumber]
				} `json:"jobs"`
				TRES struct {
					Total   restTRES `json:"total"`
					Minutes struct {
						Total restTRES `json:"total"`
						per[restTRES]
					} `json:"minutes"`
					per[restTRES]
				} `json:"tres"`
				Wall per[restNumber] `json:"wall_clock"` // minutes
			} `json:"max"`
			Min struct {
				TRES per[restTRES] `json:"tres"`
			} `json:"min"`
		} `json:"limits"`
		Preempt struct {
			List   restWords  `json:"list"`
			Mode   restWords  `json:"mode"`
			Exempt restNumber `json:"exempt_time"` // seconds
		} `json:"preempt"`
		Priority restNumber `json:"priority"`
		Usage    restNumber `json:"usage_factor"`
	}
	return restRecord(text, func(o *qos) map[string]string {
		limits := &o.Limits.Max
		return map[string]string{
			"Name": o.Name, "Priority": o.Priority.orNone(), "GrpJobs": limits.Active.Count.orNone(),
			"GrpSubmit": limits.Jobs.Count.orNone(), "GrpTRES": string(limits.TRES.Total),
			"GrpTRESMins": string(limits.TRES.Minutes.Total), "GrpTRESRunMins": string(limits.TRES.Minutes.Per.QOS),
			"GrpWall": limits.Wall.Per.QOS.minutes(), "MaxTRES": string(limits.TRES.Per.Job),
			"MaxTRESPerNode": string(limits.TRES.Per.Node), "MaxTRESMins": string(limits.TRES.Minutes.Per.Job),
			"MaxWall": limits.Wall.Per.Job.minutes(), "MaxJobsPU": limits.Jobs.Active.Per.User.orNone(),
			"MaxSubmitPU": limits.Jobs.Per.User.orNone(), "MaxTRESPU": string(limits.TRES.Per.User),
			"MaxJobsPA": limits.Jobs.Active.Per.Account.orNone(), "MaxSubmitPA": limits.Jobs.Per.Account.orNone(),
			"MaxTRESPA": string(limits.TRES.Per.Account), "MinTRES": string(o.Limits.Min.TRES.Per.Job),
			"Preempt": o.Preempt.List.list(), "PreemptMode": o.Preempt.Mode.list(),
			"PreemptExemptTime": o.Preempt.Exempt.seconds(), "GraceTime": o.Limits.Grace.seconds(),
			"Flags": qosFlags(o.Flags).list(), "UsageFactor": o.Usage.orNone(),
		}
	})
}

// qosFlags returns the flags of a QOS by the names that sacctmgr shows (slurmdb_qos_flags_str in
// src/common/slurmdb_defs.c).
func qosFlags(flags restWords) (named restWords) {
	for _, flag := range flags {
		switch flag {
		case "PARTITION_MINIMUM_NODE":
			flag = "PartitionMinNodes"
		case "PARTITION_MAXIMUM_NODE":
			flag = "PartitionMaxNodes"
		case "PARTITION_TIME_LIMIT":
			flag = "PartitionTimeLimit"
		case "ENFORCE_USAGE_THRESHOLD":
			flag = "EnforceUsageThreshold"
		case "NO_RESERVE":
			flag = "NoReserve"
		case "REQUIRED_RESERVATION":
			flag = "RequiresReservation"
		case "DENY_LIMIT":
			flag = "DenyOnLimit"
		case "OVERRIDE_PARTITION_QOS":
			flag = "OverPartQOS"
		case "NO_DECAY":
			flag = "NoDecay"
		case "USAGE_FACTOR_SAFE":
			flag = "UsageFactorSafe"
		case "RELATIVE":
			flag = "Relative"
		}
		named = append(named, flag)
	}
	return named
}

// restAssociation converts an association to sacctmgr's columns.
func restAssociation(text []byte) (record, error) {
	type association struct {
		Cluster   string     `json:"cluster"`
		Account   string     `json:"account"`
		User      string     `json:"user"`
		Partition string     `json:"partition"`
		Parent    string     `json:"parent_account"`
		Priority  restNumber `json:"priority"`
		QOS       restWords  `json:"qos"`
		Default   struct {
			QOS string `json:"qos"`
		} `json:"default"`
		Max struct {
			Jobs struct {
				Active restNumber `json:"active"`
				Total  restNumber `json:"total"`
				Per    struct {
					Count     restNumber `json:"count"`
					Submitted restNumber `json:"submitted"`
					Wall      restNumber `json:"wall_clock"` // minutes, for one job
				} `json:"per"`
			} `json:"jobs"`
			TRES struct {
				Total restTRES `json:"total"`
				Group struct {
					Minutes restTRES `json:"minutes"`
					Active  restTRES `json:"active"`
				} `json:"group"`
				Minutes struct {
					Per restPer[restTRES] `json:"per"`
				} `json:"minutes"`
				Per restPer[restTRES] `json:"per"`
			} `json:"tres"`
			Per struct {
				Account struct {
					Wall restNumber `json:"wall_clock"` // minutes, for all jobs together
				} `json:"account"`
			} `json:"per"`
		} `json:"max"`
	}
	return restRecord(text, func(o *association) map[string]string {
		jobs, tres := &o.Max.Jobs, &o.Max.TRES
		return map[string]string{
			"Cluster": o.Cluster, "Account": o.Account, "User": o.User, "Partition": o.Partition,
			"GrpJobs": jobs.Per.Count.orNone(), "GrpSubmit": jobs.Per.Submitted.orNone(),
			"GrpTRES": string(tres.Total), "GrpTRESRunMins": string(tres.Group.Active),
			"GrpTRESMins": string(tres.Group.Minutes), "GrpWall": o.Max.Per.Account.Wall.minutes(),
			"MaxTRES": string(tres.Per.Job), "MaxTRESPerNode": string(tres.Per.Node),
			"MaxTRESMins": string(tres.Minutes.Per.Job), "MaxWall": jobs.Per.Wall.minutes(),
			"MaxJobs": jobs.Active.orNone(), "MaxSubmit": jobs.Total.orNone(), "ParentName": o.Parent,
			"Priority": o.Priority.orNone(), "DefaultQOS": o.Default.QOS, "QOS": o.QOS.list(),
		}
	})
}
