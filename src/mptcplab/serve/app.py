# SPDX-License-Identifier: MIT
"""The pages of the server, and the answers to the form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

from flask import Flask, Response, abort, redirect, render_template, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as BaseResponse

import mptcplab
from mptcplab.errors import InputError, LabError
from mptcplab.pages import build_report
from mptcplab.report.html import to_html
from mptcplab.serve.folders import Folders
from mptcplab.serve.form import MAX_REPEATS, PRESETS, base_names, choices_of, read_form
from mptcplab.serve.guard import HEADERS, PAGE_POLICY, REPORT_POLICY, Guard
from mptcplab.serve.runner import Runner, State

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
    """What the server answers."""

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

    def _address(self, state: State) -> str:
        """Return the address of the report on the experiment, or nothing as long as there is no run."""
        if state.folder is None or not state.done:
            return ""
        return f"/report/0/{state.folder.relative_to(self._root).as_posix()}"
