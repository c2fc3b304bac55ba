"""Proves the client against a running daemon (python_test.go starts it) and against servers that misbehave."""

from __future__ import annotations

import ast
import contextlib
import http.server
import io
import itertools
import json
import os
import pathlib
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from typing import Any, Callable, Iterator, TypeVar

import waitcast

URL = os.environ.get("WAITCAST_TEST_URL", "")
TOKEN = os.environ.get("WAITCAST_TEST_TOKEN", "")  # an administrator's
HERE = pathlib.Path(__file__).parent
T = TypeVar("T")
SIZES: waitcast.SizeRequest = {
    "places": [{"queue": "work"}], "sizes": [4, 64], "least_gain": 0,
    "runtime": {"table": [{"procs": 4, "seconds": 3600}, {"procs": 64, "seconds": 3540}]},
}


@unittest.skipUnless(URL, "no daemon: WAITCAST_TEST_URL is not set (go test starts one)")
class AgainstDaemon(unittest.TestCase):
    """Of 64 processors 4 are free, a job waits for 32, until the log says otherwise."""

    daemon: waitcast.Client

    @classmethod
    def setUpClass(cls) -> None:
        cls.daemon = waitcast.Client(URL)

    def test_wait(self) -> None:
        wait = self.daemon.wait(queue="work", procs=2, time_limit="1h", user="someone")
        self.assertEqual((wait["queue"], wait["procs"], wait["cluster"]), ("work", 2, "main"))
        self.assertEqual(set(wait["wait_seconds"]), {"p10", "p25", "p50", "p75", "p90", "p95"})
        self.assertFalse(wait["stale"])
        start = wait["start"]["p50"]
        if start is not None:
            self.assertGreater(waitcast.parse_instant(start).timestamp(), waitcast.parse_instant(wait["as_of"]).timestamp() - 1)

    def test_start_by(self) -> None:
        wait = self.daemon.wait(queue="work", procs=2, time_limit="1h", by="1h")
        by = wait["start_by"]
        self.assertEqual(by["probability"], wait["start_within"]["1h"])
        self.assertLessEqual(by["at_least"], by["probability"])
        self.assertGreaterEqual(by["at_most"], by["probability"])
        waits = self.daemon.what_if({"procs": [2], "time_limits": ["1h"], "places": [{"queue": "work"}], "by": by["at"]})
        self.assertAlmostEqual(waits["candidates"][0]["start_by"]["probability"], by["probability"], places=2)

    def test_what_if(self) -> None:
        waits = self.daemon.what_if({"procs": [2, 32], "time_limits": ["1h", "1d"], "places": [{"queue": "work"}]})
        asked = {(c["procs"], c["time_limit_seconds"]) for c in waits["candidates"]}
        self.assertEqual(asked, {(2, 3600), (2, 86400), (32, 3600), (32, 86400)})
        self.assertEqual((waits["ranked_by"], waits["left_out"]), ("start", []))

    def test_now(self) -> None:
        (queue,) = self.daemon.now(queue="work")["queues"]
        self.assertEqual(queue["procs"], 64)
        self.assertGreaterEqual(queue["free"], 4)

    def test_jobs(self) -> None:
        jobs = self.daemon.jobs(queue="work", limit=10)
        self.assertIsNone(jobs["next_offset"])
        self.assertEqual(self.daemon.jobs(queue="work", offset=jobs["waiting"])["jobs"], [])
        for job in jobs["jobs"]:
            self.assertEqual(self.daemon.job(job["id"])["procs"], job["procs"])
        with self.assertRaises(waitcast.ProblemError) as caught:
            self.daemon.job("a/b c?")
        self.assertEqual(caught.exception.status, 404)
        self.assertIn("a/b c?", caught.exception.detail)

    def test_where(self) -> None:
        """The places of all daemons come in the order of their medians; a daemon that is not there is named."""
        nobody = waitcast.Client("http://127.0.0.1:1", timeout=1)
        there, left = waitcast.where([self.daemon, nobody, self.daemon], procs=2, time_limit="1h")
        self.assertEqual([p["candidate"]["queue"] for p in there], ["work", "work"])
        self.assertEqual([x["daemon"] for x in left], ["http://127.0.0.1:1"])
        alone = self.daemon.wait(queue="work", procs=2, time_limit="1h")
        self.assertAlmostEqual(there[0]["candidate"]["wait_seconds"]["p50"] or 0, alone["wait_seconds"]["p50"] or 0, delta=1)
        self.assertEqual(waitcast.where([self.daemon], procs=2, time_limit="1h", queue="nope"), ([], []))
        _, left = waitcast.where([self.daemon], procs=100, time_limit="1h")
        self.assertIn("64", left[0]["detail"])

    def test_when(self) -> None:
        when = retried(lambda: self.daemon.when(queue="work", procs=8, time_limit="1h", hours=3))
        self.assertEqual((when["queue"], when["procs"], len(when["hours"])), ("work", 8, 3))
        waits = when["hours"][0]["wait_seconds"]
        assert waits["p05"] is not None and waits["p95"] is not None
        self.assertLessEqual(waits["p05"], waits["p95"])

    def test_me(self) -> None:
        """Who is nobody is told how to identify; a user's jobs are those of that user, with the habit of their name."""
        with self.assertRaises(waitcast.ProblemError) as caught:
            self.daemon.me()
        self.assertEqual(caught.exception.status, 401)
        self.assertIn("Unix socket", caught.exception.hint)
        me = waitcast.Client(URL, token=TOKEN).me(user="someone", limit=1)
        self.assertEqual((me["user"], me["cluster"], me["running_jobs"]), ("someone", "main", 1))
        (habit,) = me["habits"]
        self.assertEqual((habit["name"], habit["runs"], habit["reached_limit"], habit["time_limit_seconds"]), ("job", 200, 0, 86400))
        assert habit["runtime_seconds"]
        self.assertEqual(habit["runtime_seconds"]["p50"], 6000)
        self.assertEqual(habit["shorter"]["time_limit_seconds"], 4 * 3600)
        self.assertIn("of the 1 d that you ask", habit["text"])
        out = command("me", "--user", "someone", token=TOKEN)
        self.assertEqual((out.returncode, out.stdout.splitlines()[-1]), (0, habit["text"]))

    def test_queues(self) -> None:
        queues = {q["name"]: q for q in self.daemon.queues()["queues"]}
        self.assertIn("work", queues)
        rules = queues["work"]["rules"]
        assert rules is not None
        self.assertTrue(rules["words"])
        order = rules["order"]
        self.assertEqual(order["waits"] >= order["waits_needed"], "fitted_at" in order)
        self.assertEqual(rules["times"]["found"], [])

    def test_history(self) -> None:
        history = self.daemon.history(queue="work", since="30d")
        self.assertGreater(len(history["days"]), 0)
        for day in history["days"]:
            self.assertEqual(day["queue"], "work")
            self.assertGreater(day["started"], 0)
            self.assertLessEqual(day["median_seconds"], day["p90_seconds"])

    def test_accuracy(self) -> None:
        accuracy = self.daemon.accuracy(queue="work", since="7d")
        self.assertEqual(accuracy["cluster"], "main")
        self.assertTrue(any(m["n"] > 0 for g in accuracy["groups"] for m in g["methods"]))
        for group in accuracy["groups"]:
            for method in group["methods"]:
                for level, o in method["outcomes"].items():
                    self.assertEqual(o["decided"], o["up_to"] + o["missed"] + o["left_undecided"])
                    self.assertEqual(level in method["coverage"], o["up_to"] + o["missed"] > 0)
            self.assertLessEqual(group["waiting_past"]["0.95"], group["waiting"])

    def test_types_have_every_member(self) -> None:
        with urllib.request.urlopen(URL + "/openapi.json", timeout=60) as answer:
            schemas = json.load(answer)["components"]["schemas"]
        known = 0
        for name, schema in schemas.items():
            kind: Any = getattr(waitcast, name, None)
            if not hasattr(kind, "__required_keys__") or name.endswith("Request"):
                continue
            known += 1
            with self.subTest(name):
                members = set(schema["properties"])
                self.assertEqual(sorted(members - set(kind.__annotations__)), [], "the class lacks members of the answer")
                self.assertEqual(sorted(set(kind.__annotations__) - members), [], "the answer has no such members")
                required = set(schema.get("required", []))
                self.assertEqual(sorted(kind.__required_keys__ - required), [], "the daemon may leave these members out")
        self.assertGreater(known, 30)

    def test_problems(self) -> None:
        with self.assertRaises(waitcast.ProblemError) as caught:
            self.daemon.wait(queue="werk", procs=4)
        problem = caught.exception
        self.assertEqual((problem.status, problem.reason, problem.no_forecast, problem.errors), (404, "unknown_queue", True, []))
        self.assertIn("work", problem.hint)
        with self.assertRaises(waitcast.ProblemError) as caught:
            self.daemon.what_if({"procs": []})
        self.assertEqual(caught.exception.status, 422)
        self.assertFalse(caught.exception.no_forecast)
        self.assertEqual([e.location for e in caught.exception.errors], ["body.procs"])
        self.assertEqual(caught.exception.parameter, "procs")
        self.assertIn("body.procs", str(caught.exception))
        with self.assertRaises(waitcast.ProblemError) as caught:
            next(self.daemon.watch({"runtime": {}}))
        self.assertEqual(caught.exception.status, 422)

    def test_size_and_watch(self) -> None:
        """The advice goes from what is free to all when the log tells that the big job has ended, and is not told again to who knows it."""
        size = self.daemon.size(SIZES)
        self.assertEqual(size["advice"]["procs"], 4, size)
        with contextlib.closing(waitcast.Client(URL).watch(SIZES)) as events:
            first = next(events)
            assert first.size
            self.assertEqual((first.size["advice"]["procs"], first.size["candidate"]["procs"]), (4, 4))
            with open(os.environ["WAITCAST_TEST_LOG"], "a", encoding="ascii") as log:
                log.write(os.environ["WAITCAST_TEST_RELEASE"])
            second = next(e for e in events if e.size and e.size["advice"]["procs"] != 4)
            assert second.size
            self.assertEqual(second.size["advice"]["procs"], 64)
            self.assertNotEqual(first.id, second.id)
        resumed = self.daemon.watch(SIZES, last_event_id=first.id)
        with contextlib.closing(resumed):
            event = next(resumed)
            assert event.size
            self.assertEqual(event.size["advice"]["procs"], 64)

    def test_command(self) -> None:
        out = command("--json", "wait", "--queue", "work", "--procs", "2", "--time-limit", "2h")
        self.assertEqual((json.loads(out.stdout)["procs"], out.returncode, out.stderr), (2, 0, ""))
        out = command("wait", "--queue", "work", "-n", "2", "4", "-t", "2h", "1d")
        self.assertEqual((len(out.stdout.split("procs\tqueue")[1].splitlines()), out.returncode), (5, 0))
        for line in (["now"], ["jobs"], ["queues"], ["accuracy", "--since", "7d"], ["now", "--queue", "work"]):
            self.assertEqual(command(*line).returncode, 0, line)
        out = command("size", "-", input=json.dumps(SIZES))
        self.assertIn("ask for", out.stdout)
        out = command("wait", "--queue", "werk", "--procs", "4")
        self.assertEqual((out.returncode, out.stdout), (3, ""))
        self.assertIn("known queues: work", out.stderr)
        self.assertEqual(command("size", "/nowhere").returncode, 2)
        self.assertEqual(command("wait", "--queue", "work", "--procs", "2", "--time-limit", "soon").returncode, 2)


def retried(ask: Callable[[], T]) -> T:
    """Asks until there is an answer: the first forecast of the load is made in the background."""
    deadline = time.monotonic() + 300
    while True:
        try:
            return ask()
        except waitcast.ProblemError as problem:
            if problem.status != 503 or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def command(*arguments: str, input: str = "", token: str = "") -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(HERE / "waitcast.py"), "--url", URL, *arguments]
    shown = {"WAITCAST_TOKEN": token} if token else {}
    return subprocess.run(line, input=input, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **shown})


Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@contextlib.contextmanager
def server(answer: Answer) -> Iterator[str]:
    """A server that gives one answer to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as s:
        thread = threading.Thread(target=s.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{s.server_port}"
        finally:
            s.shutdown()
            thread.join()


def reply(status: int, kind: str, body: str, **headers: str) -> Answer:
    def answer(h: http.server.BaseHTTPRequestHandler) -> None:
        h.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            h.send_header(name, value)
        h.end_headers()
        h.wfile.write(body.encode())

    return answer


def told(procs: int) -> str:
    return json.dumps({"advice": {"procs": procs}})


class AgainstOthers(unittest.TestCase):
    def test_no_daemon(self) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))  # and nobody listens
            client = waitcast.Client(f"http://me:secret@127.0.0.1:{s.getsockname()[1]}")
            asks: list[Callable[[], object]] = [client.queues, lambda: next(client.watch(SIZES))]
            for ask in asks:
                with self.assertRaises(waitcast.UnreachableError) as caught:
                    ask()
                self.assertNotIn("secret", str(caught.exception))

    def test_silence_and_trickle_end(self) -> None:
        stop = threading.Event()

        def silent(h: http.server.BaseHTTPRequestHandler) -> None:
            stop.wait(20)

        def trickle(h: http.server.BaseHTTPRequestHandler) -> None:
            h.send_response(200)
            h.end_headers()
            with contextlib.suppress(OSError):
                while not stop.wait(0.02):
                    h.wfile.write(b" ")

        for answer in (silent, trickle):
            stop.clear()
            with server(answer) as address:
                began = time.monotonic()
                with self.assertRaises(waitcast.UnreachableError):
                    waitcast.Client(address, timeout=0.3).queues()
                self.assertLess(time.monotonic() - began, 15)
                stop.set()

    def test_foreign_answers(self) -> None:
        for answer in (
            reply(200, "text/html", "<h1>hello</h1>"), reply(200, "application/json", "{"), reply(200, "application/json", "[1]"),
            reply(404, "text/html", "no"), reply(500, "application/problem+json", "["), reply(200, "application/json", "[" * 200_000),
            reply(302, "text/html", "", Location="http://127.0.0.1:1/elsewhere"), reply(200, "application/json", " " * (9 << 20)),
        ):
            with server(answer) as address, self.assertRaises(waitcast.AnswerError):
                waitcast.Client(address).queues()

    def test_password_is_sent_and_not_shown(self) -> None:
        seen: list[str] = []

        def answer(h: http.server.BaseHTTPRequestHandler) -> None:
            seen.append(h.headers["Authorization"])
            reply(200, "application/json", "{}")(h)

        with server(answer) as address:
            client = waitcast.Client(f"http://me:a%40b@{address}/behind/")
            client.queues()
        self.assertEqual(seen, ["Basic bWU6YUBi"])
        self.assertEqual(client.url, f"http://{address}/behind")
        for bad in ("http://me:secret/more@host", "ftp://me:secret@host", "http://", "http://me:secret@host:x"):
            with self.assertRaises(ValueError) as caught:
                waitcast.Client(bad)
            self.assertNotIn("secret", str(caught.exception))

    def test_unix_socket(self) -> None:
        """A daemon's Unix socket is asked like its address; one that nobody listens on is not the default."""

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reply(200, "application/json", json.dumps({"path": self.path}))(self)

            def address_string(self) -> str:
                return "socket"

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(socketserver.ThreadingUnixStreamServer):
            def get_request(self) -> Any:
                request, _ = super().get_request()
                return request, ("", 0)

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "api.sock")
            self.assertFalse(waitcast._socket_answers(path))
            with Server(path, Handler) as s:
                thread = threading.Thread(target=s.serve_forever, args=(0.01,))
                thread.start()
                try:
                    self.assertTrue(waitcast._socket_answers(path))
                    client = waitcast.Client("unix://" + path)
                    self.assertEqual(client.queues(cluster="main"), {"path": "/v1/queues?cluster=main"})
                    self.assertEqual(client.url, "unix://" + path)
                finally:
                    s.shutdown()
                    thread.join()
            with self.assertRaises(waitcast.UnreachableError):
                client.queues()
        for bad in ("unix://", "unix://host/path", "unix:relative"):
            with self.assertRaises(ValueError):
                waitcast.Client(bad)

    def test_problem_without_members(self) -> None:
        with server(reply(503, "application/problem+json", '{"errors": [1, {"location": "query.x", "message": "no"}]}')) as address:
            with self.assertRaises(waitcast.ProblemError) as caught:
                waitcast.Client(address).queues()
        self.assertEqual(str(caught.exception), "about:blank: query.x: no (status 503)")
        self.assertEqual(caught.exception.errors, [waitcast.FieldError("query.x", "no")])

    def test_watch_comes_back_with_the_newest_id(self) -> None:
        """Across two lost connections, a busy daemon and events of all shapes nothing is lost or told twice."""
        ids: list[str] = []
        connection = itertools.count()
        bodies = [
            "retry: 1\n\n:\n\nid: a.1\nevent: size\ndata: " + told(1) + "\n\nid: b.1\nevent: size\ndata: " + told(2) + "\n",  # cut off
            "",
            "id: b.1\r\nevent: size\r\ndata: " + told(2).replace(": ", ":\r\ndata: ") + "\r\n\r\nevent: later\ndata: x\n\n",
            'event: problem\ndata: {"status": 404, "title": "gone"}\n\n',
        ]

        def answer(h: http.server.BaseHTTPRequestHandler) -> None:
            n = next(connection)
            ids.append(h.headers.get("Last-Event-ID", ""))
            if n == 1:
                reply(503, "application/problem+json", "{}")(h)
            else:
                reply(200, "text/event-stream", bodies[n])(h)

        with server(answer) as address:
            events = list(itertools.islice(waitcast.Client(address).watch(SIZES), 3))
        self.assertEqual(ids, ["", "a.1", "a.1", "b.1"])
        self.assertEqual([e.id for e in events], ["a.1", "b.1", "b.1"])
        self.assertEqual([e.size and e.size["advice"]["procs"] for e in events], [1, 2, None])
        assert events[2].problem
        self.assertEqual(str(events[2].problem), "gone (status 404)")

    def test_watch_loses_patience(self) -> None:
        with server(reply(200, "text/event-stream", "retry: 10\nid: a.1\nevent: size\ndata: " + told(1) + "\n\n")) as address:
            events = waitcast.Client(address).watch(SIZES, patience=0.1)
            next(events)
        with self.assertRaises(waitcast.UnreachableError):
            next(events)

    def test_watch_refuses_foreign_streams(self) -> None:
        for kind, body in (("text/html", "hello"), ("text/event-stream", "event: size\ndata: 1\n\n"), ("text/event-stream", ":" + " " * (9 << 20))):
            with server(reply(200, kind, body)) as address, self.assertRaises(waitcast.AnswerError):
                next(waitcast.Client(address).watch(SIZES))


class WithoutServer(unittest.TestCase):
    def test_syntax_is_of_python_3_9(self) -> None:
        ast.parse((HERE / "waitcast.py").read_text(encoding="utf-8"), feature_version=(3, 9))

    def test_instants(self) -> None:
        for text, seconds in (
            ("1970-01-01T00:00:01Z", 1), ("1970-01-01T00:00:00.25Z", 0.25), ("1970-01-01T01:00:00.123456789+01:00", 0.123456),
        ):
            self.assertEqual(waitcast.parse_instant(text).timestamp(), seconds)
        for text in ("", "yesterday", "1970-01-01T00:00:01", "1970-01-01 00:00:01Z"):
            self.assertRaises(ValueError, waitcast.parse_instant, text)

    def test_durations(self) -> None:
        for seconds, text in ((None, "no end in sight"), (0, "0 s"), (61, "1 min"), (3599, "1 h"), (7500, "2 h 05 min"), (86400, "1 d"), (100800, "1 d 04 h")):
            self.assertEqual(waitcast.format_seconds(seconds), text)

    def test_usage(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as complaint:
            self.assertEqual(waitcast.main(["--url", "ftp://x", "now"]), 2)
            self.assertEqual(waitcast.main(["--timeout", "0", "now"]), 2)
            self.assertRaises(SystemExit, waitcast.main, ["wait", "--procs", "many"])
        self.assertIn("http://HOST:PORT", complaint.getvalue())


if __name__ == "__main__":
    unittest.main()
