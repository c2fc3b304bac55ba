#!/usr/bin/env python3
"""Asks a waitcast daemon: how long would a job wait, which size finishes soonest, what would start at once.

One file without dependencies, for Python 3.9 and later: copy it next to your program, or run it.

    import waitcast
    daemon = waitcast.Client()                       # WAITCAST_URL, else http://127.0.0.1:9817
    print(daemon.wait(queue="short", procs=16, time_limit="2h")["wait_seconds"]["p50"])

Answers are the daemon's JSON as it is, described by the typed dictionaries below; docs/api.md says what each member means. Seconds are numbers,
instants are text that parse_instant reads, None where a number is expected is never, or not known. Members may be added.
"""

from __future__ import annotations

import argparse
import base64
import dataclasses
import datetime
import ipaddress
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import IO, Any, Generator, Iterator, Mapping, Optional, Sequence, TypedDict, Union, cast

DEFAULT_URL = "http://127.0.0.1:9817"
DEFAULT_SOCKET = "/run/waitcast/api.sock"  # of a daemon on this host: on it the user who asks needs no token
NO_FORECAST = "urn:waitcast:problem:no-forecast"
_MOST_BYTES = 8 << 20  # of an answer, and of an event
_SILENCE = 45.0  # seconds; the daemon sends a comment into a stream every 15 s

Quantiles = dict[str, Optional[float]]  # p10, p25, p50, p75, p90, p95 to seconds; None is never
Instants = dict[str, Optional[str]]  # the same levels to RFC 3339


class Dated(TypedDict):
    """How old the data behind an answer are."""

    as_of: str
    age_seconds: float
    stale: bool


class Place(TypedDict, total=False):
    """A queue. Both may be left out where there is only one."""

    cluster: str
    queue: str


class _CannotSayMust(TypedDict):
    reason: str
    detail: str


class CannotSay(_CannotSayMust, total=False):
    """Why a method has no forecast."""

    hint: str


class _MethodMust(TypedDict):
    name: str
    median_seconds: Optional[float]


class Method(_MethodMust, total=False):
    median_low_seconds: float
    median_high_seconds: float
    draws: int
    ignores: list[str]
    cannot_say: CannotSay


class StartBy(TypedDict):
    at: str
    probability: float
    at_least: float
    at_most: float


_CauseMust = TypedDict("_CauseMust", {"class": str, "detail": str, "action": str})


class _FreedMust(TypedDict):
    of: str
    amount: int
    seconds: float
    jobs: int


class Freed(_FreedMust, total=False):
    """What comes free of a limit, and when."""

    id: str


class Cause(_CauseMust, total=False):
    """What keeps a job from starting at once."""

    blocked_seconds: Quantiles
    comes_free: Freed


class Pivot(TypedDict):
    """A running job whose end decides a start."""

    id: str
    procs: int
    age_seconds: float
    remaining_p50_seconds: Optional[float]
    remaining_p90_seconds: Optional[float]
    share: float


_SoonerMust = TypedDict("_SoonerMust", {
    "changes": str, "queue": str, "procs": int, "wait_seconds": Quantiles, "gain_seconds": Optional[float], "probability": float, "if": str,
})


class Sooner(_SoonerMust, total=False):
    """A request that would start sooner."""

    nodes: int
    time_limit_seconds: float


class CurvePoint(TypedDict):
    seconds: float
    probability: float


class _WaitMust(Dated):
    cluster: str
    queue: str
    procs: int
    wait_seconds: Quantiles
    start: Instants
    start_within: dict[str, float]
    method: str
    methods: list[Method]
    basis: dict[str, Any]
    model: dict[str, Any]
    state: dict[str, Any]
    reason: str


class Wait(_WaitMust, total=False):
    """The answer of GET /v1/wait."""

    asked_queue: str
    time_limit_seconds: float
    nodes: int
    gpus: int
    memory_bytes: int
    not_considered: list[str]
    start_by: StartBy
    curve: list[CurvePoint]
    cause: Cause
    refused: Cause
    waits_for: list[Pivot]
    sooner: list[Sooner]
    warnings: list[str]


class RuntimePoint(TypedDict):
    procs: int
    seconds: float


class Runtime(TypedDict, total=False):
    """How a runtime depends on the number of processors: one of the members."""

    table: list[RuntimePoint]
    amdahl: dict[str, float]
    downey: dict[str, float]
    history: dict[str, str]


class _WaitsMust(TypedDict):
    procs: Sequence[int]


class WaitsRequest(_WaitsMust, total=False):
    """The question of POST /v1/wait: all combinations of places, procs and time_limits."""

    places: Sequence[Place]
    time_limits: Sequence[str]
    by: str
    runtime: Runtime
    nodes: int
    gpus: int
    memory: str
    user: str
    account: str
    qos: str


class _WaitCandidateMust(TypedDict):
    cluster: str
    queue: str
    procs: int
    wait_seconds: Quantiles
    start: Instants
    start_within: dict[str, float]
    best: float


class WaitCandidate(_WaitCandidateMust, total=False):
    asked_queue: str
    time_limit_seconds: float
    start_by: StartBy
    run_seconds: Quantiles
    finish_seconds: Quantiles
    finish: Instants


class LeftOut(TypedDict):
    cluster: str
    queue: str
    procs: int
    reason: str
    detail: str


class Waits(Dated):
    """The answer of POST /v1/wait, the best first."""

    ranked_by: str
    candidates: list[WaitCandidate]
    advice: list[str]
    left_out: list[LeftOut]


class Asked(Place):
    procs: int


class Standing(Asked):
    since: str


class Running(TypedDict, total=False):
    """A malleable job that runs."""

    job_id: str
    procs: int
    remaining_seconds: float
    at: str
    done: float
    overhead_seconds: float


class Objective(TypedDict, total=False):
    kind: str
    level: float
    deadline: str
    price_proc_hour: float
    price_hour: float


class _SizeMust(TypedDict):
    runtime: Runtime


class SizeRequest(_SizeMust, total=False):
    """The question of POST /v1/size and GET /v1/watch."""

    places: Sequence[Place]
    sizes: Sequence[int]
    min: int
    max: int
    time_limit: str
    time_limit_factor: float
    objective: Objective
    request: Asked
    running: Running
    standing: Standing
    least_gain: float
    hold_seconds: float
    user: str
    account: str
    qos: str


class _SizeCandidateMust(TypedDict):
    cluster: str
    queue: str
    procs: int
    wait_seconds: Quantiles
    run_seconds: Quantiles
    finish_seconds: Quantiles
    finish: Instants
    mean_wait_seconds: Optional[float]
    mean_run_seconds: Optional[float]
    mean_finish_seconds: Optional[float]
    proc_hours: float
    score: Optional[float]
    best: float


class SizeCandidate(_SizeCandidateMust, total=False):
    asked_queue: str
    time_limit_seconds: float
    mean_before_seconds: float
    mean_after_seconds: float
    in_time: float
    cost: float
    requested: bool
    gain: dict[str, Optional[float]]


class _AdviceMust(TypedDict):
    action: str  # ask, keep, expand, shrink
    cluster: str
    queue: str
    procs: int
    best: float
    since: str
    reason: str


class Advice(_AdviceMust, total=False):
    time_limit_seconds: float


class Size(Dated):
    """The answer of POST /v1/size, the best first."""

    objective: str
    advice: Advice
    candidates: list[SizeCandidate]
    left_out: list[LeftOut]


class SizeEvent(Dated):
    """What GET /v1/watch tells."""

    objective: str
    advice: Advice
    candidate: SizeCandidate


class Opening(TypedDict):
    procs: int
    time_limit_seconds: Optional[float]
    probability: float
    likely_procs: int


class _NowQueueMust(TypedDict):
    cluster: str
    queue: str
    procs: int
    free: int
    queued_jobs: int
    binds: str
    openings: list[Opening]
    plan_age_seconds: Optional[float]
    reason: str


class NowQueue(_NowQueueMust, total=False):
    asked_queue: str
    pool: str


class Now(Dated):
    """The answer of GET /v1/now."""

    queues: list[NowQueue]


class JobForecast(TypedDict):
    at_submit: Quantiles
    now: Quantiles
    start: Instants
    ahead_jobs_at_submit: int
    ahead_procs_at_submit: int
    methods: list[Method]


class _JobMust(TypedDict):
    id: str
    queue: str
    procs: int
    submit: str
    waited_seconds: float
    forecast: Optional[JobForecast]
    ahead_jobs: int
    ahead_procs: int


class Job(_JobMust, total=False):
    user: str
    account: str
    name: str
    details_pending: bool
    tasks: int
    time_limit_seconds: float
    held: bool
    held_reason: str
    held_class: str
    held_detail: str
    held_action: str
    no_forecast: str
    moved: str
    moved_by: str
    waits_for: list[Pivot]
    sooner: list[Sooner]


class JobAnswer(Job, Dated):
    """The answer of GET /v1/jobs/{id}."""

    cluster: str


class Jobs(Dated):
    """The answer of GET /v1/jobs."""

    cluster: str
    jobs: list[Job]
    waiting: int
    next_offset: Optional[int]


class Shorter(TypedDict, total=False):
    """What a shorter time limit would bring. The first two members are always there."""

    time_limit_seconds: float
    enough: float
    wait_seconds: Quantiles
    gain_seconds: Optional[float]
    probability: float


class _HabitMust(TypedDict):
    name: str
    runs: int
    time_limit_seconds: float
    runtime_seconds: Optional[Quantiles]
    reached_limit: int
    text: str


class Habit(_HabitMust, total=False):
    """How long the jobs of one name ran, beside the time limit that they ask for."""

    queue: str
    procs: int
    shorter: Shorter


class WhenHour(TypedDict):
    """One instant at which a job could be submitted; wait_seconds has p05, p25, p50, p75 and p95."""

    at: str
    wait_seconds: dict[str, Optional[float]]
    best: bool


class _WhenMust(Dated):
    cluster: str
    queue: str
    procs: int
    hours: list[WhenHour]
    note: str
    made_for: str


class When(_WhenMust, total=False):
    """The answer of GET /v1/when."""

    time_limit_seconds: float


class Me(Jobs):
    """The answer of GET /v1/me."""

    user: str
    running_jobs: int
    habits: list[Habit]
    other_names: int


class StartEffect(TypedDict):
    attribute: str
    first: str
    share: float
    pairs: int


class _StartOrderMust(TypedDict):
    source: str
    waits: int
    waits_needed: int
    effects: list[StartEffect]


class StartOrder(_StartOrderMust, total=False):
    fitted_at: str
    loss: float
    first_come_loss: float
    weights: dict[str, Any]


# "from" is a keyword, which a class cannot have as a member.
WeekTime = TypedDict("WeekTime", {"days": list[str], "from": str, "to": str})


class LimitTimes(TypedDict):
    over_seconds: float
    up_to_seconds: Optional[float]
    open: list[WeekTime]
    shut: list[WeekTime]
    open_starts: float
    open_hours: float
    shut_starts: float
    shut_hours: float


class StartTimes(TypedDict):
    starts: int
    starts_needed: int
    waited_hours: float
    found: list[LimitTimes]


class Rules(TypedDict):
    """What is known of the rules by which a queue's jobs start; words are sentences."""

    words: list[str]
    order: StartOrder
    times: StartTimes


class TypicalJob(TypedDict, total=False):
    procs: int
    time_limit_seconds: float


class _QueueMust(TypedDict):
    cluster: str
    name: str
    running_jobs: int
    running_procs: int
    queued_jobs: int
    queued_procs: int
    held_jobs: int
    held_procs: int
    policy: str
    policy_source: str
    rules: Optional[Rules]
    models: list[dict[str, Any]]


class Queue(_QueueMust, total=False):
    pool: str
    typical: TypicalJob


class Queues(Dated):
    """The answer of GET /v1/queues."""

    queues: list[Queue]
    pools: list[dict[str, Any]]


class NewestCoverage(TypedDict):
    decided: int
    left_undecided: int
    censored: int  # deprecated: left_undecided
    coverage: list[float]
    coverage_unweighted: list[float]


class Outcomes(TypedDict):
    decided: int
    below: int
    up_to: int
    missed: int
    left_undecided: int
    censored: int  # deprecated: left_undecided
    undecided: int
    early: int


class _MethodAccuracyMust(TypedDict):
    method: str
    n: int
    coverage: dict[str, list[float]]
    coverage_unweighted: dict[str, list[float]]
    outcomes: dict[str, Outcomes]
    log_pinball: dict[str, float]
    within_factor_2: float


class MethodAccuracy(_MethodAccuracyMust, total=False):
    waitcast_log_pinball: dict[str, float]


class PartAccuracy(TypedDict):
    n: int
    nonzero: int
    coverage: dict[str, list[float]]
    log_pinball: dict[str, float]
    within_factor_2: float


class PartsAccuracy(TypedDict):
    whole: PartAccuracy
    eligible: PartAccuracy
    blocked: PartAccuracy


class ReasonAccuracy(TypedDict):
    jobs: int
    agreed: int
    share: float
    counts: dict[str, dict[str, int]]


class _AccuracyGroupMust(TypedDict):
    queue: str
    size_class: str
    made: str
    unforecast: int
    left: int
    cancelled: int  # deprecated: left
    waiting: int
    waiting_past: dict[str, int]
    known_misses: dict[str, int]
    methods: list[MethodAccuracy]


class AccuracyGroup(_AccuracyGroupMust, total=False):
    newest: dict[str, NewestCoverage]
    parts: PartsAccuracy
    reasons: ReasonAccuracy


class Accuracy(Dated):
    """The answer of GET /v1/accuracy."""

    cluster: str
    since: str
    until: Optional[str]
    groups: list[AccuracyGroup]
    total: int
    next_offset: Optional[int]


class HistoryDay(TypedDict):
    """The waits of the jobs of one queue that started on one day, in seconds."""

    day: str
    queue: str
    started: int
    median_seconds: float
    p90_seconds: float


class History(Dated):
    """The answer of GET /v1/history."""

    cluster: str
    since: str
    until: Optional[str]
    time_zone: str
    days: list[HistoryDay]
    total: int
    next_offset: Optional[int]


class WaitcastError(Exception):
    """What every error of this module is."""


class UnreachableError(WaitcastError):
    """No answer came from the daemon, or not in time."""


class AnswerError(WaitcastError):
    """What answered is not a waitcast daemon."""


@dataclasses.dataclass(frozen=True)
class FieldError:
    """What is wrong with one parameter, such as query.procs or body.sizes[0]."""

    location: str
    message: str
    value: object = None


class ProblemError(WaitcastError):
    """The daemon's answer that it cannot do what was asked (RFC 9457). reason and hint are set where no forecast is possible, parameter where one is wrong."""

    def __init__(self, status: int, members: Mapping[str, Any]) -> None:
        def text(name: str) -> str:
            return str(members.get(name) or "")

        self.status = status
        self.type, self.title, self.detail = text("type") or "about:blank", text("title"), text("detail")
        self.reason, self.hint, self.parameter = text("reason"), text("hint"), text("parameter")
        found = members.get("errors")
        self.errors = [
            FieldError(str(e.get("location", "")), str(e.get("message", "")), e.get("value"))
            for e in (found if isinstance(found, list) else [])
            if isinstance(e, dict)
        ]
        self.members = dict(members)
        parts = [p for p in (self.title, self.detail) if p] or [self.type]
        parts += [f"{e.location}: {e.message}" for e in self.errors]
        super().__init__(f"{': '.join(parts)} (status {status})")

    @property
    def no_forecast(self) -> bool:
        """The question was understood, but no forecast can be made."""
        return self.type == NO_FORECAST


@dataclasses.dataclass(frozen=True)
class WatchEvent:
    """One event of a watch: an advice, or a problem for as long as none can be given."""

    id: str  # of the newest advice: what watch takes as last_event_id; "" before the first
    size: Optional[SizeEvent] = None
    problem: Optional[ProblemError] = None


def parse_instant(text: str) -> datetime.datetime:
    """Reads an instant of an answer. Digits beyond microseconds are dropped."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text)
    if not found:
        raise ValueError(f"{text!r} is not an instant as RFC 3339 has it")
    zone = "+00:00" if found[3] == "Z" else found[3]
    return datetime.datetime.fromisoformat(f"{found[1]}.{(found[2] or '')[:6]:0<6}{zone}")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Redirects are refused: urllib would send the password along, and a POST as a GET."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _SocketHandler(urllib.request.HTTPHandler):
    """Sends requests over a Unix socket, whatever the host of their URL."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        path = self._path

        class Connection(HTTPConnection):
            def connect(self) -> None:
                self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self.sock.settimeout(self.timeout)
                self.sock.connect(path)

        return self.do_open(Connection, req)


def _socket_answers(path: str) -> bool:
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as tried:
            tried.settimeout(1.0)
            tried.connect(path)
    except OSError:
        return False
    return True


class Client:
    """Asks one daemon. It is safe for several threads.

    url is as for the command, unix:///PATH for a Unix socket; default WAITCAST_URL, else DEFAULT_SOCKET if it answers, else DEFAULT_URL. A user and password in it are sent (basic authentication), and never shown. timeout is in seconds: within it an answer
    must begin, and end after it has begun. token is sent in the password's place (default WAITCAST_TOKEN, else the content of the file WAITCAST_TOKEN_FILE). ca is a
    file of certificates that vouch for the daemon's in the system's stead, cert and key are the files of a client certificate (default WAITCAST_CA, WAITCAST_CERT, WAITCAST_KEY).
    """

    def __init__(
        self, url: Optional[str] = None, *, timeout: float = 10.0, token: Optional[str] = None, ca: Optional[str] = None, cert: Optional[str] = None,
        key: Optional[str] = None,
    ) -> None:
        if not 0 < timeout < float("inf"):
            raise ValueError(f"timeout {timeout}: want a number of seconds above 0")
        self.timeout = timeout
        address = url or os.environ.get("WAITCAST_URL") or ("unix://" + DEFAULT_SOCKET if _socket_answers(DEFAULT_SOCKET) else DEFAULT_URL)
        over = ""
        if address.startswith("unix:"):
            over = urllib.parse.unquote(address[len("unix://"):])
            if not address.startswith("unix:///"):
                raise ValueError("the daemon's URL must be unix:///PATH")
            address = "http://localhost"
        try:
            parts = urllib.parse.urlsplit(address if "://" in address else "http://" + address)
            host, port = parts.hostname, parts.port
        except ValueError:  # its text repeats the address, password included
            raise ValueError("the daemon's URL is not valid") from None
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError("the daemon's URL must be http://HOST:PORT or https://HOST:PORT")
        place = f"[{host}]" if ":" in host else host
        self.url = f"{parts.scheme}://{place}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
        if over:
            self.url = "unix://" + over
        self._base = "http://localhost" if over else self.url
        self._headers = {"User-Agent": "waitcast-python"}
        if parts.username is not None:
            pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
            self._headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        token = _token() if token is None else token
        if token and "Authorization" not in self._headers:
            self._headers["Authorization"] = "Bearer " + token
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if parts.scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=_tls(
                ca or os.environ.get("WAITCAST_CA"), cert or os.environ.get("WAITCAST_CERT"), key or os.environ.get("WAITCAST_KEY"),
            )))
        if over:
            handlers.append(_SocketHandler(over))
        if over or _is_loopback(host):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def wait(
        self, *, queue: str = "", procs: int = 0, time_limit: str = "", nodes: int = 0, gpus: int = 0,
        gpu_type: str = "", memory: str = "", user: str = "", account: str = "", qos: str = "", cluster: str = "",
        keep: float = 0.0, by: str = "",
    ) -> Wait:
        """How long would this job wait? What is empty or 0 is not said. GET /v1/wait.

        What is in "sooner" keeps at least a part of the processors and of the time limit, keep. With by, an instant (RFC 3339) or how long from
        now ("2h"), the answer has start_by.
        """
        return cast(Wait, self._get("/v1/wait", {
            "queue": queue, "procs": procs, "time_limit": time_limit, "nodes": nodes, "gpus": gpus,
            "gpu_type": gpu_type, "memory": memory, "user": user, "account": account, "qos": qos, "cluster": cluster, "keep": keep, "by": by,
        }))

    def what_if(self, request: WaitsRequest) -> Waits:
        """How long with other queues, sizes and time limits? POST /v1/wait."""
        return cast(Waits, self._post("/v1/wait", request))

    def size(self, request: SizeRequest) -> Size:
        """Which size, in which queue, finishes soonest? POST /v1/size."""
        return cast(Size, self._post("/v1/size", request))

    def now(self, *, queue: str = "", cluster: str = "", user: str = "", account: str = "", qos: str = "") -> Now:
        """Which jobs would start at once? GET /v1/now."""
        return cast(Now, self._get("/v1/now", {"queue": queue, "cluster": cluster, "user": user, "account": account, "qos": qos}))

    def jobs(self, *, queue: str = "", cluster: str = "", limit: int = 0, offset: int = 0) -> Jobs:
        """The jobs that wait, with their forecasts. GET /v1/jobs."""
        return cast(Jobs, self._get("/v1/jobs", {"queue": queue, "cluster": cluster, "limit": limit, "offset": offset}))

    def when(self, *, queue: str = "", procs: int = 0, nodes: int = 0, time_limit: str = "", cluster: str = "", hours: int = 0) -> When:
        """How long a job would wait by the hour at which it is submitted. GET /v1/when."""
        asked: dict[str, Union[str, float]] = {"queue": queue, "procs": procs, "nodes": nodes, "time_limit": time_limit}
        return cast(When, self._get("/v1/when", {**asked, "cluster": cluster, "hours": hours}))

    def me(self, *, name: str = "", cluster: str = "", user: str = "", limit: int = 0, offset: int = 0) -> Me:
        """My waiting jobs and my habits by job name; name adds one, user is for administrators. GET /v1/me."""
        return cast(Me, self._get("/v1/me", {"name": name, "cluster": cluster, "user": user, "limit": limit, "offset": offset}))

    def job(self, id: str, *, cluster: str = "", keep: float = 0.0) -> JobAnswer:
        """One job that waits; of another the problem is a 404. keep is that of wait. GET /v1/jobs/{id}."""
        return cast(JobAnswer, self._get("/v1/jobs/" + urllib.parse.quote(id, safe=""), {"cluster": cluster, "keep": keep}))

    def queues(self, *, cluster: str = "") -> Queues:
        """The queues and what they hold. GET /v1/queues."""
        return cast(Queues, self._get("/v1/queues", {"cluster": cluster}))

    def accuracy(
        self, *, queue: str = "", size_class: str = "", made: str = "", since: str = "", until: str = "", cluster: str = "",
        limit: int = 0, offset: int = 0,
    ) -> Accuracy:
        """How the forecasts turned out, a page of them; next_offset of the answer is the offset of the next. GET /v1/accuracy."""
        return cast(Accuracy, self._get("/v1/accuracy", {
            "queue": queue, "size_class": size_class, "made": made, "since": since, "until": until, "cluster": cluster,
            "limit": limit, "offset": offset,
        }))

    def history(
        self, *, queue: str = "", since: str = "", until: str = "", cluster: str = "", limit: int = 0, offset: int = 0,
    ) -> History:
        """How long jobs waited, by queue and day, a page of the days; next_offset of the answer is the offset of the next. GET /v1/history."""
        return cast(History, self._get("/v1/history", {
            "queue": queue, "since": since, "until": until, "cluster": cluster, "limit": limit, "offset": offset,
        }))

    def watch(self, request: SizeRequest, *, last_event_id: str = "", patience: float = float("inf")) -> Generator[WatchEvent, None, None]:
        """Tells the advice, and again whenever it changes, until the iterator is closed. GET /v1/watch.

        A lost connection is made anew, with the newest event's id, so that nothing is told twice; also across a restart of the daemon. What cannot be
        asked raises ProblemError, a daemon that is not there at first, or then for longer than patience seconds, UnreachableError. A status of 503 that
        comes after the first event is waited out too.
        """
        stream = _Stream(last_event_id)
        query = "?" + urllib.parse.urlencode({"request": json.dumps(request)})
        lost: Optional[float] = None  # since when there is no connection
        tries = 0
        while True:
            try:
                headers = {"Accept": "text/event-stream, application/problem+json"}
                if stream.id:
                    headers["Last-Event-ID"] = stream.id
                with self._open("/v1/watch" + query, None, headers, max(self.timeout, _SILENCE)) as response:
                    if response.headers.get_content_type() != "text/event-stream":
                        raise AnswerError(f"the answer of {self.url}/v1/watch is not a stream of events")
                    for event in stream.events(response):
                        lost, tries, stream.began = None, 0, True
                        yield event
                raise UnreachableError(f"the daemon at {self.url} has ended the stream")
            except (WaitcastError, OSError, HTTPException) as error:
                lasting = isinstance(error, AnswerError) or isinstance(error, ProblemError) and error.status != 503
                now = time.monotonic()
                lost = now if lost is None else lost
                if lasting or not stream.began or now - lost >= patience:
                    raise error if isinstance(error, WaitcastError) else self._unreachable(error) from None
            time.sleep(min(stream.retry * 2**min(tries, 4), 60.0, max(0.0, lost + patience - time.monotonic())))
            tries += 1

    def _get(self, path: str, query: Mapping[str, Union[str, float]]) -> object:
        said = {name: value for name, value in query.items() if value not in ("", 0)}
        return self._ask(path + ("?" + urllib.parse.urlencode(said) if said else ""), None)

    def _post(self, path: str, body: object) -> object:
        return self._ask(path, json.dumps(body).encode())

    def _ask(self, path: str, body: Optional[bytes]) -> object:
        headers = {"Accept": "application/json, application/problem+json"}
        try:
            with self._open(path, body, headers, self.timeout) as response:
                answer = _read(response, time.monotonic() + self.timeout)
                kind = response.headers.get_content_type()
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from None
        if kind == "application/json":
            try:
                decoded: object = json.loads(answer)
            except (ValueError, RecursionError):
                decoded = None
            if isinstance(decoded, dict):
                return decoded
        raise AnswerError(f"the answer of {self.url} is not one of a waitcast daemon: no JSON object ({kind})")

    def _open(self, path: str, body: Optional[bytes], headers: Mapping[str, str], timeout: float) -> HTTPResponse:
        request = urllib.request.Request(self._base + path, data=body, headers={**self._headers, **headers})
        if body is not None:
            request.add_header("Content-Type", "application/json")
        try:
            return cast(HTTPResponse, self._opener.open(request, timeout=timeout))
        except urllib.error.HTTPError as error:
            with error:
                credential = self._munge(error)
                if not credential:
                    raise self._problem(error) from None
        request.add_header("Authorization", "Munge " + credential)
        try:
            return cast(HTTPResponse, self._opener.open(request, timeout=timeout))
        except urllib.error.HTTPError as error:
            with error:
                raise self._problem(error) from None

    def _munge(self, refusal: urllib.error.HTTPError) -> str:
        """Returns a credential of the program munge for a daemon that asks for one, empty if it does not, or may not have one.

        It goes over TLS and to this host alone: on the way others could use it.
        """
        asked = [c.split(" ")[0].lower() for c in refusal.headers.get_all("WWW-Authenticate") or []]
        where = urllib.parse.urlsplit(self.url)
        host = where.hostname or ""
        private = where.scheme == "https" or where.scheme == "http" and _is_loopback(host)
        if refusal.code != 401 or "munge" not in asked or "Authorization" in self._headers or not private:
            return ""
        try:
            made = subprocess.run(["munge", "--ttl=60", "--string=waitcast " + host.lower()], capture_output=True, text=True, timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return made.stdout.strip() if made.returncode == 0 else ""

    def _problem(self, error: urllib.error.HTTPError) -> WaitcastError:
        if error.headers.get_content_type() == "application/problem+json":
            try:
                members = json.loads(_read(error, time.monotonic() + self.timeout))
            except (ValueError, RecursionError):
                members = None
            if isinstance(members, dict):
                return ProblemError(error.code, members)
        return AnswerError(f"the answer of {self.url} (status {error.code}) is not one of a waitcast daemon")

    def _unreachable(self, error: Exception) -> UnreachableError:
        why = error.reason if isinstance(error, urllib.error.URLError) else error
        return UnreachableError(f"no answer from the waitcast daemon at {self.url}: {why or type(error).__name__}")


def _token() -> str:
    """Returns the token of the environment, empty if there is none; a file may be there for others than this user."""
    token = os.environ.get("WAITCAST_TOKEN", "").strip()
    file = os.environ.get("WAITCAST_TOKEN_FILE")
    if token or not file:
        return token
    try:
        with open(file, encoding="ascii") as opened:
            return opened.read().strip()
    except (OSError, ValueError):
        return ""


def _tls(ca: Optional[str], cert: Optional[str], key: Optional[str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca or None)
        if cert:
            context.load_cert_chain(cert, key or None)
    except OSError as error:  # also what is no certificate
        raise ValueError(f"the certificates for TLS: {error}") from None
    return context


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(response: Union[HTTPResponse, urllib.error.HTTPError], deadline: float) -> bytes:
    """Reads an answer that may neither be endless nor take forever."""
    parts: list[bytes] = []
    size = 0
    body = response if isinstance(response, HTTPResponse) else cast(HTTPResponse, response.fp)
    while True:
        part = body.read1(1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise AnswerError(f"an answer longer than {_MOST_BYTES} bytes is not one of a waitcast daemon")
        if time.monotonic() > deadline:
            raise TimeoutError("the answer takes too long")


class _Stream:
    """What is known of a stream of server-sent events across its connections (HTML standard, section 9.2)."""

    def __init__(self, last_event_id: str) -> None:
        self.id, self.retry, self.began = last_event_id, 3.0, False

    def events(self, response: IO[bytes]) -> Iterator[WatchEvent]:
        name, new_id = "", self.id
        data: list[str] = []
        while True:
            line = response.readline(_MOST_BYTES + 1)
            if not line.endswith(b"\n"):
                if len(line) > _MOST_BYTES:
                    raise AnswerError(f"an event longer than {_MOST_BYTES} bytes is not one of a waitcast daemon")
                return  # an event without its end is none
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text:
                field, _, value = text.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if field == "data":
                    data.append(value)
                elif field == "event":
                    name = value
                elif field == "id" and "\0" not in value:
                    new_id = value
                elif field == "retry" and value.isascii() and value.isdigit():
                    self.retry = min(int(value) / 1000, 60.0)
                continue
            self.id = new_id
            event = self._event(name, "\n".join(data)) if data else None
            name, data = "", []
            if event:
                yield event

    def _event(self, name: str, data: str) -> Optional[WatchEvent]:
        if name not in ("size", "problem"):
            return None  # of a later version
        try:
            told = json.loads(data)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise AnswerError("an event without a JSON object is not one of a waitcast daemon")
        if name == "size":
            return WatchEvent(self.id, size=cast(SizeEvent, told))
        status = told.get("status")
        return WatchEvent(self.id, problem=ProblemError(status if isinstance(status, int) else 0, told))


class Somewhere(TypedDict):
    """A place where a job could go: the daemon that knows it, and its candidate of POST /v1/wait."""

    daemon: str
    candidate: WaitCandidate


class Nowhere(TypedDict):
    """A place where a job cannot go, or a daemon that cannot be asked (then cluster and queue are empty)."""

    daemon: str
    cluster: str
    queue: str
    detail: str


def where(daemons: Sequence[Client], procs: int, time_limit: str, queue: str = "", user: str = "", account: str = "",
          qos: str = "") -> tuple[list[Somewhere], list[Nowhere]]:
    """Compares all queues of all clusters of some daemons for one job: the places where it could go, the soonest median start first, and those
    where it cannot. queue takes only queues of that name. Daemons that do not answer are among the others."""
    there: list[Somewhere] = []
    left: list[Nowhere] = []
    for daemon in daemons:
        try:
            places: list[Place] = [{"cluster": q["cluster"], "queue": q["name"]} for q in daemon.queues()["queues"] if queue in ("", q["name"])]
            request: WaitsRequest = {"procs": [procs], "time_limits": [time_limit], "places": places, "user": user, "account": account, "qos": qos}
            waits = daemon.what_if(request) if places else None
        except WaitcastError as error:
            left.append({"daemon": daemon.url, "cluster": "", "queue": "", "detail": str(error)})
            continue
        if waits is not None:
            there += [{"daemon": daemon.url, "candidate": c} for c in waits["candidates"]]
            left += [{"daemon": daemon.url, "cluster": x["cluster"], "queue": x["queue"], "detail": x["detail"]} for x in waits["left_out"]]
    never = float("inf")

    def soonest(place: Somewhere) -> tuple[float, float]:
        wait = place["candidate"]["wait_seconds"]
        median, high = wait["p50"], wait["p90"]
        return (never if median is None else median, never if high is None else high)

    return sorted(there, key=soonest), left


def format_seconds(seconds: Optional[float]) -> str:
    """Writes a duration for people: 35 s, 12 min, 2 h 05 min, 3 d 04 h."""
    if seconds is None:
        return "no end in sight"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes:02d} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02d} h" if hours else f"{days} d"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="waitcast.py", description="Ask a waitcast daemon about the queues of a cluster.")
    parser.add_argument("--url", help=f"address of the daemon; default WAITCAST_URL, else {DEFAULT_URL}")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--json", action="store_true", help="print the daemon's JSON, one line for each answer")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str, *options: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        for option in options:
            number = option in ("nodes", "gpus", "limit", "offset")
            sub.add_argument("--" + option.replace("_", "-"), default=0 if number else "", type=int if number else str)
        return sub

    who = ("user", "account", "qos", "cluster")
    wait = command("wait", "How long would this job wait? Several sizes or time limits are compared.", "queue", "nodes", "gpus", "memory", *who)
    wait.add_argument("--procs", "-n", type=int, nargs="+", default=[])
    wait.add_argument("--time-limit", "-t", nargs="+", default=[], metavar="LIMIT", help="2h30m, 1-12:00, seconds")
    for name, text in (("size", "Which size finishes soonest?"), ("watch", "Tell whenever the best size changes.")):
        command(name, text).add_argument("request", help="file with the body of POST /v1/size, - for standard input")
    command("now", "Which jobs would start at once?", "queue", *who)
    command("jobs", "The jobs that wait.", "queue", "limit", "offset", "cluster")
    command("me", "My waiting jobs, and my habits by job name.", "name", "user", "limit", "offset", "cluster")
    command("queues", "The queues and what they hold.", "cluster")
    command("accuracy", "How the forecasts turned out.", "queue", "size_class", "made", "since", "until", "cluster", "limit", "offset")
    return parser


def _waited(wait: Quantiles) -> str:
    return f"{format_seconds(wait['p50'])} (90 %: {format_seconds(wait['p90'])})"


def _print_wait(daemon: Client, options: argparse.Namespace) -> tuple[Any, list[str]]:
    said = {n: getattr(options, n) for n in ("queue", "nodes", "gpus", "memory", "user", "account", "qos", "cluster")}
    if len(options.procs) <= 1 and len(options.time_limit) <= 1:
        wait = daemon.wait(procs=(options.procs or [0])[0], time_limit=(options.time_limit or [""])[0], **said)
        return wait, ["median wait " + _waited(wait["wait_seconds"]), wait["reason"]]
    place = {n: v for n, v in ((n, said.pop(n)) for n in ("queue", "cluster")) if v}
    request = {"procs": options.procs, "time_limits": options.time_limit, "places": [place], **{n: v for n, v in said.items() if v}}
    waits = daemon.what_if(cast(WaitsRequest, request))
    lines = [
        f"{c['procs']}\t{c['queue']}\t{format_seconds(c['time_limit_seconds']) if 'time_limit_seconds' in c else '-'}\t{_waited(c['wait_seconds'])}"
        for c in waits["candidates"]
    ]
    return waits, waits["advice"] + ["procs\tqueue\tlimit\tmedian wait"] + lines


def _print_other(daemon: Client, options: argparse.Namespace) -> tuple[Any, list[str]]:
    said = {n: v for n, v in vars(options).items() if n not in ("url", "timeout", "json", "command", "request")}
    if options.command == "size":
        size = daemon.size(_request(options.request))
        return size, [size["advice"]["reason"]]
    if options.command == "now":
        now = daemon.now(**said)
        return now, [f"{q['queue']}\t{q['free']} free\t{q['reason']}" for q in now["queues"]]
    if options.command == "jobs":
        jobs = daemon.jobs(**said)
        told = [(j, j["forecast"]) for j in jobs["jobs"]]
        return jobs, [f"{j['id']}\t{j['queue']}\t{j['procs']}\t{_waited(f['now']) if f else '-'}" for j, f in told]
    if options.command == "me":
        me = daemon.me(**said)
        own = [(j, j["forecast"]) for j in me["jobs"]]
        return me, [f"{j['id']}\t{j['queue']}\t{_waited(f['now']) if f else '-'}" for j, f in own] + [h["text"] for h in me["habits"]]
    if options.command == "queues":
        queues = daemon.queues(**said)
        return queues, [f"{q['name']}\t{q['running_jobs']} running\t{q['queued_jobs']} waiting" for q in queues["queues"]]
    accuracy = daemon.accuracy(**said)
    scores = [(g, m) for g in accuracy["groups"] for m in g["methods"]]
    return accuracy, [
        f"{g['queue'] or 'all'}\t{g['size_class'] or 'all'}\t{g['made']}\t{m['method']}\t{m['n']}\t{m['within_factor_2']:.3f}"
        f"\t{_shares(m['coverage'].get('0.95'))} by p95\t{g['waiting_past']['0.95']} of {g['waiting']} waiting past p95"
        for g, m in scores
    ]


def _shares(interval: Optional[list[float]]) -> str:
    return f"{interval[0]:.3f}-{interval[1]:.3f}" if interval else "-"


def _request(file: str) -> SizeRequest:
    try:
        with sys.stdin if file == "-" else open(file, encoding="utf-8") as opened:
            return cast(SizeRequest, json.load(opened))
    except (OSError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None


def _run(options: argparse.Namespace) -> int:
    daemon = Client(options.url, timeout=options.timeout)
    if options.command == "watch":
        for event in daemon.watch(_request(options.request)):
            told: object = event.size or (event.problem.members if event.problem else {})
            line = event.size["advice"]["reason"] if event.size else str(event.problem)
            print(json.dumps(told) if options.json else line, flush=True)
        return 0
    answer, lines = (_print_wait if options.command == "wait" else _print_other)(daemon, options)
    print(json.dumps(answer) if options.json else "\n".join(lines), flush=True)
    if answer["stale"]:
        print(f"waitcast: the data are {format_seconds(answer['age_seconds'])} old", file=sys.stderr)
        return 4
    return 0


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command and returns its exit status, as that of the command waitcast: 1 failed, 2 wrong usage, 3 no forecast, 4 stale."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except BrokenPipeError:  # whoever read it has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (WaitcastError, ValueError) as error:
        print(f"waitcast: {error}", file=sys.stderr)
        if not isinstance(error, ProblemError):
            return 2 if isinstance(error, ValueError) else 1
        if error.hint:
            print(f"waitcast: {error.hint}", file=sys.stderr)
        return 3 if error.no_forecast else 2 if error.status in (400, 404, 422) else 1


if __name__ == "__main__":
    sys.exit(main())
