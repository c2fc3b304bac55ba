"""Prints the job number and the run limit in seconds (-1: none) of each JOB_FINISH record in files of lsb.acct.

It counts fields from the front: each host of the usage has a name and five numbers. A limit in the command (#BSUB -W)
must be the one of the record. The Go parser finds the limit in another way."""
import csv
import re
import sys


def run_limit(f):
    at = 22
    at += 1 + int(f[at])  # asked hosts
    at += 1 + int(f[at])  # execution hosts
    command = f[at + 3]
    at += 2 + 2 + 19 + 2 + 2 + 2 + 1  # jStatus hostFactor, name command, usage, mail project, exit max, shell event, idx
    at += 23                          # maxRMem to jobDescription
    try:
        at += 1 + 2 * int(f[at])      # options of submission programs
        at += 1 + 6 * int(f[at])      # usage of the hosts
        limit = int(f[at])
        f[at + 3]                     # the resource requirement follows options3 and avgMem
    except IndexError:
        return -1
    asked = re.search(r"#BSUB -W (?:(\d+):)?(\d+)", command)
    if asked and limit != (int(asked[1] or 0) * 60 + int(asked[2])) * 60:
        sys.exit(f"job {f[3]}: -W {asked[0]} and the record's {limit} differ")
    return limit if limit > 0 else -1


csv.field_size_limit(1 << 20)
for name in sys.argv[1:]:
    with open(name, encoding="latin-1", newline="") as log:
        for fields in csv.reader(log, delimiter=" ", skipinitialspace=True):
            if fields[0] == "JOB_FINISH":
                print(fields[3], run_limit(fields))
