# SPDX-License-Identifier: MIT
"""Who may ask: the browser that was started with the token, on this machine, from our own pages.

A page of another site can make a browser send requests to this machine, and a name server can make its own name lead
here. So every request needs our name (Host), none of another site's (Origin, Sec-Fetch-Site), and the cookie, which
browsers send for our own pages only (SameSite=Strict).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

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
