# SPDX-License-Identifier: MIT
"""Downloads by FTP: ``vsftpd`` serves one file from memory, ``curl`` fetches it in passive mode."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.workloads import Ftp
from mptcplab.workload import files
from mptcplab.workload.context import Context, ftp_data_ports, with_algorithms

#: Anonymous and read-only; as whoever starts it, because the lab has no user for it; and without namespaces of its
#: own, in which there would be no network.
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


def programs(name: str, workload: Ftp, context: Context) -> Iterator[Program]:
    """A server until the end, and a client that ends with the last file."""
    return files.download(name, workload, context, scheme="ftp", serve=_serve(name, workload, context))


def _serve(name: str, workload: Ftp, context: Context) -> str:
    place = files.folder(name)
    ports = ftp_data_ports(context.port)
    settings = (
        *_SETTINGS,
        f"listen_port={context.port}",
        f"anon_root={place}",
        f"pasv_min_port={ports[0]}",
        f"pasv_max_port={ports[-1]}",
    )
    library = ("--any-address",) if workload.listen == "any" else ()
    algorithms = (workload.congestion_control, workload.scheduler)
    run = with_algorithms(("vsftpd", f"{place}.conf"), context.server_protocol, *algorithms, library=library)
    write = f"printf '%s\\n' {shlex.join(settings)} > {place}.conf"
    # It refuses a folder that its user could write to.
    closed = f"chmod 555 {place}"
    return f"{files.prepare(name, workload, context)} && {closed} && {write} && exec {shlex.join(run)}"
