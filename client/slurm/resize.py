#!/usr/bin/env python3
"""Resizes a running Slurm job whenever waitcast's advice changes: an example for malleable jobs, to be adapted.

    python3 resize.py --job 4711 --max-nodes 8 --tell ./resized request.json

request.json is the body of POST /v1/size: at least "runtime", and "objective" and "hold_seconds" where they are wanted; the job, its partition and
the sizes (whole nodes) are filled in. The command of --tell is run with the number of nodes that the job is to have: before nodes are given back, so that
the application has left them (they are the last ones of the job), and after nodes were added. If it fails the job keeps its size.

Shrinking is "scontrol update JobId=ID NumNodes=N". Growing needs SchedulerParameters=permit_job_expansion in slurm.conf: an allocation of its own is
asked for and merged into the job. After one change Slurm takes no other until the accounting database has heard of it, so without slurmdbd a job can be
resized once. It must be run by the job's owner (or root), on a machine with Slurm's commands; waitcast.py is looked for beside this file.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import time
from typing import Optional, cast

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import waitcast

PATIENCE = 60  # seconds for one of Slurm's commands, and for the processors of an expansion
TRIES = 10


class SlurmError(Exception):
    """One of Slurm's commands has failed."""


@dataclasses.dataclass(frozen=True)
class Held:
    """What a running job has."""

    nodes: int
    procs: int
    partition: str
    minutes_left: int

    @property
    def per_node(self) -> int:
        return max(1, self.procs // self.nodes)


def slurm(*command: str) -> str:
    """Runs one of Slurm's commands and returns all it says."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=2 * PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmError(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        raise SlurmError(f"{' '.join(command)}: {done.stdout.strip()}")
    return done.stdout


def held(job: str) -> Optional[Held]:
    """What the job has, None if it does not run."""
    found = re.match(r"RUNNING (\d+) (\d+) (\S+) (\S+)", slurm("squeue", "-h", "-j", job, "-o", "%T %D %C %P %L"))
    if not found:
        return None
    left = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", found[4])  # not for UNLIMITED
    minutes = 1 if left else 365 * 24 * 60
    if left:
        days, hours, whole = (int(text or 0) for text in left.group(1, 2, 3))
        minutes = max(1, (days * 24 + hours) * 60 + whole)
    return Held(int(found[1]), int(found[2]), found[3], minutes)


def update(job: str, nodes: str) -> None:
    """scontrol update; Slurm may be busy with the change before."""
    for tried in range(TRIES):
        try:
            slurm("scontrol", "update", f"JobId={job}", f"NumNodes={nodes}")
            return
        except SlurmError as error:
            if "try again" not in str(error) or tried == TRIES - 1:
                raise
        time.sleep(2)


def expand(job: str, has: Held, nodes: int) -> None:
    """Asks for the nodes that are lacking, and merges them into the job. They must be there within a minute: the advice may be another one then."""
    more = nodes - has.nodes
    said = slurm(
        "salloc", "--no-shell", f"--immediate={PATIENCE}", f"--dependency=expand:{job}", f"--partition={has.partition}",
        f"--nodes={more}", f"--ntasks={more * has.per_node}", f"--time={has.minutes_left}",
    )
    granted = re.search(r"Granted job allocation (\d+)", said)
    if not granted:
        raise SlurmError(f"salloc: {said.strip()}")
    try:
        update(granted[1], "0")  # its nodes go to the job
    except SlurmError:
        slurm("scancel", granted[1])
        raise
    update(job, "ALL")


def resize(job: str, nodes: int, tell: str) -> bool:
    """Gives the job so many nodes; false if it has them already."""
    has = held(job)
    if has is None:
        raise SlurmError(f"job {job} does not run")
    if nodes == has.nodes:
        return False
    if nodes < has.nodes:
        if tell:
            subprocess.run([tell, str(nodes)], check=True)
        update(job, str(nodes))
    else:
        expand(job, has, nodes)
        if tell:
            subprocess.run([tell, str(nodes)], check=True)
    return True


def question(options: argparse.Namespace, has: Held) -> waitcast.SizeRequest:
    with open(options.request, encoding="utf-8") as file:
        request = cast(waitcast.SizeRequest, json.load(file))
    running = request.get("running", {})
    running["job_id"] = options.job
    request["running"] = running
    request.setdefault("sizes", [n * has.per_node for n in range(options.min_nodes, max(options.max_nodes, has.nodes) + 1)])
    return request


def follow(options: argparse.Namespace) -> int:
    has = held(options.job)
    if has is None:
        raise SlurmError(f"job {options.job} does not run")
    for event in waitcast.Client().watch(question(options, has)):
        if event.problem:
            print(f"resize: {event.problem}", file=sys.stderr, flush=True)
            if held(options.job) is None:
                return 0
            continue
        if not event.size or event.size["stale"]:
            continue  # nobody knows what has happened since
        advice = event.size["advice"]
        if advice["action"] not in ("shrink", "expand"):
            continue
        nodes = -(-advice["procs"] // has.per_node)
        print(f"resize: {advice['reason']}", flush=True)
        if options.dry_run:
            continue
        try:
            if resize(options.job, nodes, options.tell):
                print(f"resize: job {options.job} has {nodes} node{'s' if nodes > 1 else ''}", flush=True)
        except (SlurmError, subprocess.CalledProcessError) as error:
            print(f"resize: the job keeps its size: {error}", file=sys.stderr, flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Resize a running Slurm job whenever waitcast's advice changes.")
    parser.add_argument("--job", required=True, metavar="ID")
    parser.add_argument("--min-nodes", type=int, default=1)
    parser.add_argument("--max-nodes", type=int, default=1, help="what it may grow to; it may keep what it has")
    parser.add_argument("--tell", default="", metavar="COMMAND", help="run with the number of nodes before they are fewer, and after they are more")
    parser.add_argument("--dry-run", action="store_true", help="only print the advice")
    parser.add_argument("request", help="file with the body of POST /v1/size")
    try:
        return follow(parser.parse_args())
    except (waitcast.WaitcastError, SlurmError, OSError, ValueError) as error:
        print(f"resize: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
