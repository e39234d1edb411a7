# SPDX-License-Identifier: MIT
"""The server, bound to this machine's own address: who may ask, what is shown, the pages, the answers to the form."""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

from flask import Flask, Response, abort, redirect, render_template, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wrappers import Response as BaseResponse

import mptcplab
from mptcplab.errors import InputError, LabError, reason
from mptcplab.metrics.stored import WRONG, StoredResults
from mptcplab.pages import build_report
from mptcplab.report.html import to_html
from mptcplab.serve.form import LIVE, MAX_REPEATS, PRESETS, base_names, choices_of, read_form
from mptcplab.serve.runner import Runner, RunnerState

# Who may ask: the browser that was started with the token, on this machine, from our own pages.
#
# A page of another site can make a browser send requests to this machine, and a name server can make its own name lead
# here. So every request needs our name (Host), none of another site's (Origin, Sec-Fetch-Site), and the cookie, which
# browsers send for our own pages only (SameSite=Strict).

#: A page of ours: nothing from elsewhere, no script in the page itself, no frame around it.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: A report has the hashes of its scripts in a policy of its own. In the sandbox it has no origin, so no cookie and no
#: access to our pages, whatever a results folder contains.
REPORT_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer", with which browsers send no Origin with forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_METHODS = ("GET", "HEAD", "POST")
_TOKEN_BYTES = 24
#: What browsers say of requests of our own pages, and of addresses that the user has typed or opened.
_OUR_SITES = ("same-origin", "none")


@dataclass(frozen=True)
class Guard:
    """Judges requests to the server at ``port``. A new one has a new token."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_TOKEN_BYTES), repr=False)

    @property
    def url(self) -> str:
        """The address with the token, for the user alone."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie: two servers on two ports share a browser's cookies."""
        return f"mptcplab-{self.port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which we answer."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def is_token(self, given: str) -> bool:
        """Return whether a text is the token; how long that takes says nothing about it."""
        return hmac.compare_digest(given.encode(errors="replace"), self.token.encode())

    def objection(self, method: str, headers: Mapping[str, str]) -> str:
        """Return why a request is refused before its cookie is looked at, or nothing."""
        if method not in _METHODS:
            return "this method is not used here"
        if headers.get("Host", "") not in self.hosts:
            return "this server is not known under that name"
        origins = [f"http://{host}" for host in self.hosts]
        origin = headers.get("Origin")
        if origin is not None and origin not in origins:
            return "the request comes from another site"
        if headers.get("Sec-Fetch-Site", "none") not in _OUR_SITES:
            return "the request comes from another site"
        if method == "POST" and origin is None:
            return "the request does not say where it comes from"
        return ""


# The results folders that the page shows: those in the folders that the user has named, and nothing else.

_MAX_DEPTH, _MAX_FOLDERS = 4, 500
_MAX_DOCUMENT_BYTES = 64 << 20
_MARKS = ("results.json", "partial.json", "runs")


@dataclass(frozen=True)
class Folder:
    """A results folder: the number of the root, and the path below it with slashes."""

    root: int
    name: str
    path: Path
    title: str
    is_complete: bool


@dataclass(frozen=True)
class Folders:
    """Results folders below ``roots``, of which the default one need not exist yet."""

    roots: tuple[Path, ...]

    @classmethod
    def find_below(cls, roots: Sequence[Path]) -> Folders:
        """Return the folders below ``roots``. :raises InputError: if one is a file."""
        for root in roots:
            if root.exists() and not root.is_dir():
                raise InputError(f"'{root}' is not a folder", hint="name results folders, or a folder that has some")
        return cls(tuple(root.resolve() for root in roots))

    def list(self) -> list[Folder]:
        """Return all results folders, by root and name."""
        listed = []
        for number, root in enumerate(self.roots):
            for path in _results_below(root, _MAX_DEPTH):
                name = _name_below(root, path)
                listed.append(Folder(number, name, path, _title(path), (path / "results.json").is_file()))
                if len(listed) == _MAX_FOLDERS:
                    return listed
        return listed

    def find(self, root: int, name: str) -> Path:
        """Return a results folder. :raises InputError: if there is none of this name below the root."""
        for folder in _results_below(self.roots[root], _MAX_DEPTH) if root < len(self.roots) else ():
            # Compared with the folders that exist, so that no name can lead to another place.
            if _name_below(self.roots[root], folder) == name:
                return folder
        raise InputError("there is no such results folder", hint="choose one of the list")


def _name_below(root: Path, folder: Path) -> str:
    """Return the path of a results folder below its root; the root's own name if it is the root."""
    name = folder.relative_to(root).as_posix()
    return (root.name or "root") if name == "." else name


def _results_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the results folders in ``folder``, itself included; links are not followed.

    Of what is below a results folder, only the results of the page are listed.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name in _MARKS for entry in entries):
        yield folder
        entries = [entry for entry in entries if entry.name == LIVE]
    for entry in entries if depth else ():
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _results_below(folder / entry.name, depth - 1)


def _title(folder: Path) -> str:
    """Return the title of an experiment, or the folder's name."""
    for name in ("results.json", "partial.json"):
        try:
            if (folder / name).stat().st_size <= _MAX_DOCUMENT_BYTES:
                return StoredResults.read(folder / name).title or folder.name
        except (OSError, RecursionError, *WRONG):
            continue
    return folder.name


# The pages of the server, and the answers to the form.

#: No form is larger.
_MAX_FORM_BYTES = 16 << 10
#: Interval at which the connection of a waiting page is tried.
_BEAT_SECONDS = 10.0


def make_app(guard: Guard, folders: Folders, runner: Runner) -> Flask:
    """Return the application that answers requests which ``guard`` accepts."""
    app = Flask("mptcplab.serve")
    app.config["MAX_CONTENT_LENGTH"] = _MAX_FORM_BYTES
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True}
    # A path with empty parts is an unknown one, not a redirect to another.
    app.url_map.merge_slashes = False
    app.before_request(lambda: _admit(guard))
    app.after_request(_add_headers)
    app.register_error_handler(HTTPException, _show_http_error)
    app.register_error_handler(LabError, _show_error)
    pages = _Pages(folders, runner)
    app.add_url_rule("/", "home", pages.home)
    app.add_url_rule("/command", "command", pages.command)
    app.add_url_rule("/start", "start", pages.start, methods=["POST"])
    app.add_url_rule("/cancel", "cancel", pages.cancel, methods=["POST"])
    app.add_url_rule("/events", "events", pages.events)
    app.add_url_rule("/report/<int:root>/<path:name>", "report", pages.report)
    return app


def _admit(guard: Guard) -> BaseResponse | None:
    """Refuse requests from elsewhere, and exchange the token of the address for the cookie."""
    objection = guard.objection(request.method, dict(request.headers))
    if objection:
        abort(Response(f"{objection}\n", HTTPStatus.FORBIDDEN, mimetype="text/plain"))
    given = request.args.get("token")
    if given is not None and request.path == "/" and guard.is_token(given):
        answer = redirect("/", HTTPStatus.SEE_OTHER)
        answer.set_cookie(guard.cookie, guard.token, httponly=True, samesite="Strict")
        return answer
    if not guard.is_token(request.cookies.get(guard.cookie, "")):
        text = "open the address that `mptcplab serve` has printed, with its token\n"
        abort(Response(text, HTTPStatus.FORBIDDEN, mimetype="text/plain"))
    return None


def _add_headers(answer: Response) -> Response:
    for name, value in HEADERS.items():
        answer.headers[name] = value
    answer.headers.setdefault("Content-Security-Policy", PAGE_POLICY)
    return answer


def _show_http_error(error: HTTPException) -> BaseResponse | tuple[str, int]:
    if error.response is not None:
        return error.get_response()
    return render_template("error.html", message=error.name, hint=""), error.code or HTTPStatus.INTERNAL_SERVER_ERROR


def _show_error(error: LabError) -> tuple[str, int]:
    status = HTTPStatus.BAD_REQUEST if isinstance(error, InputError) else HTTPStatus.INTERNAL_SERVER_ERROR
    return render_template("error.html", message=error.message, hint=error.hint or ""), status


class _Pages:
    """The pages of the server: each method answers one request."""

    def __init__(self, folders: Folders, runner: Runner) -> None:
        self._folders, self._runner = folders, runner

    @property
    def _root(self) -> Path:
        """The folder for new results: the first that the user has named, as the server was started."""
        return self._folders.roots[0]

    def home(self) -> str:
        """Return the page with the form, the experiment and the list of results."""
        asked = read_form(request.args.to_dict())
        return render_template(
            "home.html",
            version=mptcplab.__version__,
            base=asked.base,
            values=asked.values,
            names=base_names(),
            presets=PRESETS,
            choices=choices_of(),
            max_repeats=MAX_REPEATS,
            command=asked.command(self._root),
            state=self._runner.state,
            live=self._address(self._runner.state),
            folders=self._folders.list(),
            roots=self._folders.roots,
        )

    def command(self) -> Response:
        """Return the command for the fields of the form, or what is wrong with them, as text."""
        try:
            text, status = read_form(request.args.to_dict()).command(self._root), HTTPStatus.OK
        except InputError as error:
            text, status = error.message, HTTPStatus.BAD_REQUEST
        return Response(text, status, mimetype="text/plain")

    def start(self) -> BaseResponse:
        """Start the experiment of the form. :raises InputError: if it is wrong, or another one runs."""
        asked = read_form(request.form.to_dict())
        experiment = asked.load()
        self._runner.start(
            asked.words,
            asked.folder(self._root),
            command=asked.command(self._root),
            title=experiment.title,
            total=len(experiment.runs),
        )
        # The page then has the values of this experiment, of which the next one changes some.
        return redirect(f"/?{urlencode(request.form)}#experiment", HTTPStatus.SEE_OTHER)

    def cancel(self) -> BaseResponse:
        """Cancel the experiment that runs, if one does."""
        self._runner.cancel()
        return redirect("/#experiment", HTTPStatus.SEE_OTHER)

    def events(self) -> Response:
        """Return the state of the experiment, and each change of it, as a stream of events."""
        return Response(self._stream(), mimetype="text/event-stream")

    def _stream(self) -> Iterator[str]:
        version, number, sent = -1, -1, 0
        while not self._runner.is_closed:
            state = self._runner.wait(version, _BEAT_SECONDS)
            if state.version == version:
                yield ": still here\n\n"
                continue
            if state.number != number:
                number, sent = state.number, 0
            curves = [curve.to_json() for curve in state.curves[sent:]]
            version, sent = state.version, len(state.curves)
            document = {**state.to_json(), "curves": curves, "report": self._address(state)}
            yield f"data: {json.dumps(document)}\n\n"

    def report(self, root: int, name: str) -> Response:
        """Return the report of a results folder. :raises LabError: if there is none, or it is damaged."""
        page = to_html(build_report(self._folders.find(root, name)))
        return Response(page, mimetype="text/html", headers={"Content-Security-Policy": REPORT_POLICY})

    def _address(self, state: RunnerState) -> str:
        """Return the address of the report on the experiment, or nothing as long as there is no run."""
        if state.folder is None or not state.done:
            return ""
        return f"/report/0/{state.folder.relative_to(self._root).as_posix()}"


# The server: bound to this machine's own address, and to nothing else.

ADDRESS = "127.0.0.1"


class _Handler(WSGIRequestHandler):
    """Answers without a version, and without a line on the terminal for each request: its address has the token."""

    def version_string(self) -> str:
        """Return what we say of ourselves."""
        return "mptcplab"

    def log(self, type: str, message: str, *args: object) -> None:
        """Write nothing but errors."""
        if type == "error":
            logging.getLogger("mptcplab.serve").error(message, *args)


@dataclass(frozen=True)
class LiveServer:
    """A server that listens. ``run`` answers until it is interrupted, or another thread calls ``stop``."""

    url: str
    run: Callable[[], None]
    stop: Callable[[], None]


@contextmanager
def listen(folders: Folders, port: int) -> Iterator[LiveServer]:
    """Listen at ``port``, or at a free one if it is 0. At the end, a running experiment is ended as well.

    :raises InputError: if the port cannot be used.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, port))
            listening.listen()
        except OSError as error:
            hint = "name another one with --port, or 0 for any that is free"
            raise InputError(f"port {port} cannot be used: {reason(error)}", hint=hint) from error
        guard, runner = Guard(int(listening.getsockname()[1])), Runner()
        server: BaseWSGIServer = make_server(
            ADDRESS,
            guard.port,
            make_app(guard, folders, runner),
            threaded=True,
            request_handler=_Handler,
            fd=listening.fileno(),
        )
        # A page that waits for events must not delay the end.
        server.daemon_threads = True  # type: ignore[attr-defined]
        server.block_on_close = False  # type: ignore[attr-defined]
        try:
            yield LiveServer(guard.url, server.serve_forever, server.shutdown)
        finally:
            runner.close()
            server.server_close()
