# SPDX-License-Identifier: MIT
"""Downloads by FTP: ``vsftpd`` serves one file from memory, ``curl`` fetches it in passive mode."""

from __future__ import annotations

import shlex
from typing import ClassVar, Literal

from pydantic import Field

from mptcplab.fields import Misnomers, Whole
from mptcplab.steps import Call
from mptcplab.workload.context import FIRST_PORT, WorkloadContext
from mptcplab.workload.download import Download, folder

_FIRST_DATA_PORT, _DATA_PORTS = 10000, 20
#: Anonymous and read-only; as the user who starts it, because the lab has no user for it; and without namespaces of
#: its own, which would have no network.
_SETTINGS = (
    "listen_ipv6=YES",
    "background=NO",
    "anonymous_enable=YES",
    "no_anon_password=YES",
    "local_enable=NO",
    "run_as_launching_user=YES",
    "seccomp_sandbox=NO",
    "isolate=NO",
    "isolate_network=NO",
    "use_sendfile=YES",
)


def ftp_data_ports(port: int) -> range:
    """Return the ports of data connections of an FTP server on ``port``, below the range of ephemeral ports."""
    first = _FIRST_DATA_PORT + (port - FIRST_PORT) * _DATA_PORTS
    return range(first, first + _DATA_PORTS)


class Ftp(Download):
    """Downloads by FTP in passive mode: ``vsftpd`` and ``curl``, with one FTP session per file."""

    misnomers: ClassVar[Misnomers] = {
        "listen": ("bind",),
    }

    scheme = "ftp"

    kind: Literal["ftp"]
    connections: Whole = Field(default=1, ge=1, le=10, description="simultaneous downloads", examples=[1])
    listen: Literal["any", "address"] = Field(
        default="any", description="addresses on which the server accepts data connections; vsftpd's own choice is one"
    )

    @classmethod
    def data_ports(cls, port: int) -> range:
        """See the base class."""
        return ftp_data_ports(port)

    def _serve(self, name: str, context: WorkloadContext) -> tuple[str, tuple[str | Call, ...]]:
        place = folder(name)
        ports = ftp_data_ports(context.port)
        settings = (
            *_SETTINGS,
            f"listen_port={context.port}",
            f"anon_root={place}",
            f"pasv_min_port={ports[0]}",
            f"pasv_max_port={ports[-1]}",
        )
        library = ("--any-address",) if self.listen == "any" else ()
        run = self._with_algorithms(Call(("vsftpd", f"{place}.conf")), context.server_protocol, library=library)
        write = f"printf '%s\\n' {shlex.join(settings)} > {place}.conf"
        # vsftpd refuses a folder that its user can write to.
        return f"chmod 555 {place} && {write} && exec {run}", ("chmod", run)
