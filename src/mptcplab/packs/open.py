# SPDX-License-Identifier: MIT
"""Open a pack: download and check it, put the scenario's files into a folder of their own, and confine them to it."""

from __future__ import annotations

import http.client
import shlex
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import mptcplab
from mptcplab.cache import cache_root, make_work_folder, report_cache_errors
from mptcplab.errors import InputError, LabError, MissingError, reason
from mptcplab.files import write_bytes
from mptcplab.packs import SUFFIX, is_url
from mptcplab.packs.archive import (
    MAX_ARCHIVE_BYTES,
    NAME,
    SCENARIO_FOLDER,
    Archive,
    Manifest,
    digest_of,
    lone_manifest,
    quote_name,
    read_manifest,
    write_archive,
)
from mptcplab.plan.compile import compile_plan
from mptcplab.plugins import plugins
from mptcplab.scenario.document import NamedFiles
from mptcplab.scenario.load import Experiment

# Download a scenario or pack from the web: HTTP and HTTPS only, with limits of size and time.

_MAX_SECONDS = 120.0
#: Longest wait for one answer of the server.
_WAIT_SECONDS = 20.0
_CHUNK_BYTES = 1 << 16


class _SameSecurity(urllib.request.HTTPRedirectHandler):
    """Follows redirects to HTTP and HTTPS, and none from HTTPS to HTTP."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request that follows; see urllib. :raises InputError: for another scheme."""
        scheme = urllib.parse.urlsplit(newurl).scheme.lower()
        if scheme not in ("http", "https") or (scheme == "http" and req.type == "https"):
            raise InputError("the address redirects to a less secure one", hint="use the final address itself")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, *, max_bytes: int = MAX_ARCHIVE_BYTES) -> bytes:
    """Return what is at ``url``. :raises InputError: if it cannot be had, or is too large or too slow."""
    opener = urllib.request.build_opener(_SameSecurity)
    ends = time.monotonic() + _MAX_SECONDS
    try:
        request = urllib.request.Request(url, headers={"User-Agent": f"mptcplab/{mptcplab.__version__}"})
        with opener.open(request, timeout=_WAIT_SECONDS) as answer:
            content = bytearray()
            while chunk := answer.read1(_CHUNK_BYTES):
                content += chunk
                if len(content) > max_bytes:
                    raise _failure(url, f"is larger than {max_bytes >> 20} MiB")
                if time.monotonic() > ends:
                    raise _failure(url, f"takes longer than {_MAX_SECONDS:g} s")
            announced = answer.headers.get("Content-Length", "")
            if announced.isdigit() and int(announced) > len(content):
                raise _failure(url, "ended before its announced length")
    except urllib.error.HTTPError as error:
        raise _failure(url, f"answers with status {error.code}") from error
    except TimeoutError as error:
        raise _failure(url, "does not answer in time") from error
    except urllib.error.URLError as error:
        words = error.reason if isinstance(error.reason, str) else getattr(error.reason, "strerror", None)
        raise _failure(url, f"cannot be reached ({words or 'no answer'})") from error
    except (http.client.InvalidURL, ValueError) as error:
        raise _failure(url, "cannot be read as a web address") from error
    except (OSError, http.client.HTTPException) as error:
        raise _failure(url, "ended unexpectedly") from error
    return bytes(content)


def _failure(url: str, what: str) -> InputError:
    shown = ascii(url[:200])[1:-1]
    return InputError(f"{shown} {what}", hint="check the address, or download the file yourself")


# Open a pack: check it, put the scenario's files into a folder of their own, and confine the scenario to it.
#
# Nothing of a stranger is executed unless the user trusts it. What counts as executed is not a list of keys: the
# scenario is loaded, and everything is asked that it leads to. See :func:`foreign_code`.

_KEY_CHARS = 16
_MAX_NAMED = 3


@dataclass(frozen=True)
class OpenPack:
    """A pack whose scenario is ``file``, in a folder that exists as long as the pack is open.

    ``named`` confines the scenario to that folder. ``source`` is the pack itself, which commands can name again.
    """

    file: Path
    named: NamedFiles
    source: Path
    manifest: Manifest

    def check_trust(self, experiment: Experiment, *, trusted: bool) -> None:
        """Check that no run executes what the pack brings. :raises InputError: if one does, and is not trusted."""
        code = foreign_code(experiment, self.named)
        if code and not trusted:
            named = ", ".join(map(quote_name, code[:_MAX_NAMED]))
            more = f" and {len(code) - _MAX_NAMED} more" if len(code) > _MAX_NAMED else ""
            raise InputError(
                f"the pack would execute what it brings or chooses: {named}{more}",
                hint=f"read it first (`mptcplab show {shlex.quote(str(self.source))}`); if you trust its author, "
                "add --trust",
            )

    def restore_name(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the pack's name in place of the name of the file in the folder.

        What a stranger writes for readers goes to a terminal, so it loses characters that control one.
        """
        question = "".join(c if c.isprintable() or c == "\n" else " " for c in experiment.question)
        return replace(experiment, file=self.source, question=question)


def foreign_code(experiment: Experiment, named: NamedFiles) -> list[str]:
    """Return what runs of ``experiment`` would execute that is not this machine's own and found by its name.

    These are files of the pack with code in them, and programs and kernels that the scenario chooses by a path.
    """
    code = {file.name for file in named.files.values() if file.executes}
    for point in experiment.points:
        plan = compile_plan(point.scenario, seed=experiment.seed)
        code.update(word for word in (*plan.uses, point.scenario.kernel) if _is_path(word))
    return sorted(code)


def _is_path(word: str) -> bool:
    """Return whether a word chooses a file by its place. Names are looked up among what this machine has."""
    return "/" in word or word.startswith("~")


@contextmanager
def open_pack(source: Path | str) -> Iterator[OpenPack]:
    """Open the pack in a file or at an address, where a scenario alone counts as a pack, too.

    Errors while it is open name the pack, and not the folder.
    :raises InputError: if it cannot be had, or is not acceptable. :raises MissingError: if it needs a plugin.
    """
    file = _download(str(source)) if is_url(str(source)) else Path(source)
    try:
        too_large = file.stat().st_size > MAX_ARCHIVE_BYTES
        data = b"" if too_large else file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {reason(error)}", hint="name a pack") from error
    if too_large:
        raise InputError(f"the pack is larger than {MAX_ARCHIVE_BYTES >> 20} MiB", hint="name a pack")
    archive = Archive(data)
    manifest = read_manifest(archive.read(NAME))
    _check_members(archive, manifest)
    _check_plugins(manifest)
    with make_work_folder("pack", cache_root()) as folder:
        root = folder / SCENARIO_FOLDER
        for name in sorted(manifest.files):
            content = archive.read(name)
            if digest_of(content) != manifest.files[name]:
                raise InputError("the pack is damaged: a file is not the one of its manifest", hint="get it again")
            if name.startswith(f"{SCENARIO_FOLDER}/"):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        try:
            yield OpenPack(folder / manifest.scenario, NamedFiles(root), file, manifest)
        except LabError as error:
            _name_pack(error, folder, file)
            raise


def _name_pack(error: LabError, folder: Path, pack: Path) -> None:
    """Name the pack in an error in place of the folder, which is removed before anybody reads about it."""
    error.message = error.message.replace(f"{folder}/", f"{pack}: ")
    error.args = (error.message,)
    if error.hint is not None:
        error.hint = error.hint.replace(f"{folder}/", f"{pack}: ")


def _check_members(archive: Archive, manifest: Manifest) -> None:
    """Check that the archive has exactly the files of its manifest, and the scenario in its place."""
    if archive.names != {NAME, *manifest.files}:
        raise InputError("the pack has other files than its manifest names", hint="get it again from its author")
    if not manifest.scenario.startswith(f"{SCENARIO_FOLDER}/"):
        raise InputError("the pack has its scenario in the wrong folder", hint="get it again from its author")


def _check_plugins(manifest: Manifest) -> None:
    """Check that the plugins are there, which a pack does not contain. :raises MissingError: if one is not."""
    present = {plugin_name(module.__name__) for module in plugins()}
    for name in manifest.plugins:
        if name not in present:
            hint = "get it from the pack's author, and name its file in MPTCPLAB_PLUGINS"
            raise MissingError(f"the pack needs the plugin {ascii(name)[1:-1]}", hint=hint)


def plugin_name(module: str) -> str:
    """Return the name of a plugin's module, without what marks a single file."""
    return module.removeprefix("mptcplab_plugin_")


def _download(url: str) -> Path:
    """Return the pack at ``url``, in the cache. A scenario that is there becomes a pack of one file."""
    content = fetch(url)
    stem = "".join(c for c in unquote(Path(urlsplit(url).path).stem) if c.isascii() and (c.isalnum() or c in "-_"))
    stem = stem[:60].strip("-_") or "scenario"
    if not content.startswith(b"PK"):
        name = f"{SCENARIO_FOLDER}/{stem}.toml"
        content = write_archive({name: content, NAME: lone_manifest(name, content).to_json()})
    folder = cache_root() / "packs" / digest_of(content)[:_KEY_CHARS]
    file = folder / (stem.removesuffix("mptcplab").rstrip("-_") + SUFFIX)
    with report_cache_errors():
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(file, content)
    return file
