"""A proxy in front of an object store that breaks requests: python faulty_proxy.py TARGET PORT.

A program of its own, as deltalake keeps Python's lock while it waits for an answer. `PUT /_faults`
with a list of rules in JSON says what is broken from then on; the first one that fits a request
counts. `GET /_faults` returns the rules that were applied, one for each request.

    method, path    regular expressions, of the whole method and anywhere in the path
    times           how often it applies; for ever without it
    share           of the requests that fit, at random; all without it
    fault           `error` (with `status` and `code`), and nothing happens in the store; `reset` in
                    the middle of the request; `lost`: it happens, and the connection is reset;
                    `lost error`: it happens, and the answer is an error; `cut`: the connection is
                    reset in the middle of the answer; `stale`: the first answer since the rules are
                    there
"""

from __future__ import annotations

import json
import random
import re
import socket
import struct
import sys
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ERROR = "<Error><Code>{}</Code><Message>by a test</Message></Error>"
RESET = struct.pack("ii", 1, 0)
NOT_PASSED_ON = ("transfer-encoding", "content-length", "connection")


class Proxy(ThreadingHTTPServer):
    def __init__(self, target: int, port: int) -> None:
        super().__init__(("127.0.0.1", port), Request)
        self.target = target
        self.rules: list[dict[str, Any]] = []
        self.applied: list[dict[str, Any]] = []
        self.first: dict[str, bytes] = {}
        self.lock = threading.Lock()
        self.chance = random.Random(1)

    def rule(self, method: str, path: str) -> dict[str, Any]:
        """The one that breaks a request; an empty one for none."""
        with self.lock:
            for rule in self.rules:
                if not re.fullmatch(rule.get("method", ".*"), method):
                    continue
                if not re.search(rule.get("path", ""), path) or rule.get("times") == 0:
                    continue
                if self.chance.random() >= rule.get("share", 1):
                    continue
                if "times" in rule:
                    rule["times"] -= 1
                self.applied.append({**rule, "method": method, "path": path})
                return rule
            return {}


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """No log."""

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        if self.path == "/_faults":
            self._control(self.rfile.read(size))
            return
        rule = self.server.rule(self.command, self.path)
        fault = rule.get("fault", "")
        if fault == "reset":
            self.rfile.read(size // 2)
            self._reset()
            return
        body = self.rfile.read(size)
        if fault == "error":
            self._send_error(rule)
            return
        status, headers, content = self._asked(body)
        if fault == "lost":
            self._reset()
        elif fault == "lost error":
            self._send_error(rule)
        elif fault == "cut":
            self._send(status, headers, content, content[: len(content) // 2])
            self._reset()
        else:
            first = self.server.first.setdefault(self.path, content)
            content = first if fault == "stale" else content
            self._send(status, headers, content, content)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # whatever the method
            return self._answer
        raise AttributeError(name)

    def _control(self, body: bytes) -> None:
        with self.server.lock:
            applied = json.dumps(self.server.applied).encode()
            if self.command == "PUT":
                self.server.rules, self.server.applied = json.loads(body), []
                self.server.first.clear()
        self._send(200, [], applied, applied)

    def _asked(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        try:
            connection.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body or None)
            reply = connection.getresponse()
            return reply.status, reply.getheaders(), reply.read()
        finally:
            connection.close()

    def _send(
        self, status: int, headers: list[tuple[str, str]], content: bytes, sent: bytes
    ) -> None:
        self.send_response_only(status)
        # That of an answer to HEAD says something.
        length = {name.lower(): value for name, value in headers}.get("content-length")
        for name, value in headers:
            if name.lower() not in NOT_PASSED_ON:
                self.send_header(name, value)
        is_head = self.command == "HEAD"
        self.send_header("Content-Length", str(length if is_head and length else len(content)))
        self.end_headers()
        self.wfile.write(b"" if is_head else sent)

    def _send_error(self, rule: dict[str, Any]) -> None:
        content = ERROR.format(rule.get("code", "InternalError")).encode()
        self._send(rule.get("status", 500), [("Content-Type", "application/xml")], content, content)

    def _reset(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.close_connection = True


if __name__ == "__main__":
    Proxy(int(sys.argv[1]), int(sys.argv[2])).serve_forever()
