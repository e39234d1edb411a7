# SPDX-License-Identifier: MIT
"""Download a scenario or pack from the web: HTTP and HTTPS only, with limits of size and time."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import mptcplab
from mptcplab.errors import InputError
from mptcplab.packs.archive import MAX_ARCHIVE_BYTES

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


def fetch(url: str, *, max_bytes: int = MAX_ARCHIVE_BYTES, max_seconds: float = _MAX_SECONDS) -> bytes:
    """Return what is at ``url``. :raises InputError: if it cannot be had, or is too large or too slow."""
    opener = urllib.request.build_opener(_SameSecurity)
    ends = time.monotonic() + max_seconds
    try:
        request = urllib.request.Request(url, headers={"User-Agent": f"mptcplab/{mptcplab.__version__}"})
        with opener.open(request, timeout=min(_WAIT_SECONDS, max_seconds)) as answer:
            content = bytearray()
            while chunk := answer.read1(_CHUNK_BYTES):
                content += chunk
                if len(content) > max_bytes:
                    raise _failure(url, f"is larger than {max_bytes >> 20} MiB")
                if time.monotonic() > ends:
                    raise _failure(url, f"takes longer than {max_seconds:g} s")
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
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failure(url, "cannot be read as a web address") from error
    return bytes(content)


def _failure(url: str, what: str) -> InputError:
    shown = ascii(url[:200])[1:-1]
    return InputError(f"{shown} {what}", hint="check the address, or download the file yourself")
