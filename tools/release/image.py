# SPDX-License-Identifier: MIT
"""``python -m tools.release.image``: builds the container image and, with ``--check``, runs the first experiment in it.

The engine is the first that works here: docker, podman, buildah without namespaces of its own. Where none works, the
steps of the Containerfile are executed in a root file system that mmdebstrap makes, as root. The base image is pulled;
where no registry can be reached, mmdebstrap makes it from this machine's Debian mirror.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from tools.release.command import FIRST_RUN, PACK, ROOT, check_first_run, check_numbers, make_pack, run, succeeds
from tools.release.containerfile import Image, parse
from tools.wheels.command import run_main

from mptcplab.errors import LabError, MissingError

NAME = "mptcplab"
SUITE = "bookworm"
_MADE_BASE = "localhost/mptcplab-base"
#: Where the image finds the pack of the first experiment.
_MOUNT = "/mnt"
#: What is run in the image: the first experiment, and its pack.
_CHECKS = (
    (*FIRST_RUN, "--out", "/tmp/results"),
    ("run", f"{_MOUNT}/{PACK}", "--out", "/tmp/results-of-the-pack"),
)


class Engine(Protocol):
    """What builds images and runs programs in them."""

    name: str

    def works(self, base: str) -> bool:
        """Return whether a program runs in a container of the image `base`."""

    def pull(self, image: str) -> bool:
        """Get an image from its registry, and return whether that was possible."""

    def import_root(self, archive: Path, image: str) -> None:
        """Make an image of a root file system."""

    def build(self, base: str) -> None:
        """Build the image from the Containerfile."""

    def run(self, arguments: Sequence[str], *, folder: Path) -> str:
        """Run the image's program, with ``folder`` at /mnt, and return what it printed, errors last."""


class Daemon:
    """docker, or podman with the same commands."""

    def __init__(self, name: str) -> None:
        self.name = name

    def works(self, base: str) -> bool:
        """See :class:`Engine`."""
        return succeeds([self.name, "run", "--rm", "--network", "none", base, "true"])

    def pull(self, image: str) -> bool:
        """See :class:`Engine`."""
        return succeeds([self.name, "pull", "--quiet", image])

    def import_root(self, archive: Path, image: str) -> None:
        """See :class:`Engine`."""
        run([self.name, "import", archive, image])

    def build(self, base: str) -> None:
        """See :class:`Engine`."""
        options = ["--network", "host", "--build-arg", f"BASE={base}", "--tag", NAME, "--file", "Containerfile"]
        run([self.name, "build", *options, "."])

    def run(self, arguments: Sequence[str], *, folder: Path) -> str:
        """See :class:`Engine`."""
        options = ["--rm", "--network", "none", "--volume", f"{folder}:{_MOUNT}:ro"]
        return run([self.name, "run", *options, NAME, *arguments], with_errors=True)


class Buildah:
    """buildah with the isolation of chroot, which needs no namespaces and no control groups, but root."""

    name = "buildah"
    _isolated = ("--isolation", "chroot")

    def works(self, base: str) -> bool:
        """See :class:`Engine`."""
        try:
            self._run_in(base, ["true"])
        except LabError:
            return False
        return True

    def pull(self, image: str) -> bool:
        """See :class:`Engine`."""
        return succeeds(["buildah", "pull", "--quiet", image])

    def import_root(self, archive: Path, image: str) -> None:
        """See :class:`Engine`."""
        with self._container("scratch") as container:
            run(["buildah", "add", "--quiet", container, archive, "/"])
            run(["buildah", "commit", "--quiet", container, image])

    def build(self, base: str) -> None:
        """See :class:`Engine`."""
        options = ["--network", "host", "--build-arg", f"BASE={base}", "--tag", NAME, "--file", "Containerfile"]
        run(["buildah", "build", *self._isolated, *options, "."])

    def run(self, arguments: Sequence[str], *, folder: Path) -> str:
        """See :class:`Engine`. buildah starts any command, so the program of the image is named."""
        entry = Image.from_instructions(parse(ROOT / "Containerfile")).entry
        return self._run_in(NAME, [*entry, *arguments], "--volume", f"{folder}:{_MOUNT}:ro")

    def _run_in(self, image: str, command: Sequence[str], *options: str) -> str:
        with self._container(image) as container:
            return run(["buildah", "run", *self._isolated, *options, container, "--", *command], with_errors=True)

    @contextmanager
    def _container(self, image: str) -> Iterator[str]:
        container = run(["buildah", "from", "--pull-never", *self._isolated, image]).strip()
        try:
            yield container
        finally:
            run(["buildah", "rm", container])


def find_engine(stack: ExitStack) -> tuple[Engine, str] | None:
    """Return the first engine that works and the base image that it has; None if none works."""
    archive: Path | None = None
    wanted = Image.from_instructions(parse(ROOT / "Containerfile")).base
    for engine in (Daemon("docker"), Daemon("podman"), Buildah()):
        if shutil.which(engine.name) is None or not succeeds([engine.name, "info"]):
            continue
        base = wanted
        if not engine.pull(wanted):
            if archive is None:
                archive = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "base.tar"
                make_root(archive)
            base = _MADE_BASE
            engine.import_root(archive, base)
        if engine.works(base):
            return engine, base
    return None


def make_root(target: Path) -> None:
    """Make a root file system of Debian: an archive, or a folder. :raises MissingError: without root or mmdebstrap."""
    if os.geteuid() != 0:
        raise MissingError("no container engine works here, and only root makes a root file system of Debian")
    run(["mmdebstrap", "--quiet", "--variant=minbase", SUITE, target])


def build_in_chroot(root: Path) -> Image:
    """Execute the steps of the Containerfile in the root file system `root`, and return the image's properties."""
    image = Image.from_instructions(parse(ROOT / "Containerfile"))
    for source, target in image.copies:
        shutil.copytree(ROOT / source, root / target.lstrip("/"), dirs_exist_ok=True)
    for command in image.commands:
        run_in_chroot(root, ["sh", "-c", command])
    return image


def run_in_chroot(root: Path, command: Sequence[str], *, user: str = "root", folder: str = "/") -> str:
    """Run a command in a root file system, as a user of it, with this machine's /proc and /dev."""
    script = (
        'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && '
        'cp --dereference /etc/resolv.conf "$0/etc/resolv.conf" 2>/dev/null; user=$1 folder=$2; shift 2; '
        'exec chroot "$0" su --shell /bin/sh "$user" --command \'cd "$0" && exec "$@"\' -- "$folder" "$@"'
    )
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    environment |= {"DEBIAN_FRONTEND": "noninteractive"}
    words: list[str | Path] = ["unshare", "--mount", "sh", "-c", script, root, user, folder, *command]
    return run(words, environment=environment, with_errors=True)


def check(*, is_chroot: bool) -> None:
    """Build the image, run the first experiment in it, and compare its numbers with this checkout's.

    :raises LabError: if anything fails, or the numbers are not the same bytes.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_pack(folder)
        engine_and_base = None if is_chroot else find_engine(stack)
        if engine_and_base is not None:
            engine, base = engine_and_base
            engine.build(base)
            outputs, builder = [engine.run(arguments, folder=folder) for arguments in _CHECKS], engine.name
        else:
            root = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "root"
            make_root(root)
            image = build_in_chroot(root)
            shutil.copy(folder / PACK, root / _MOUNT.lstrip("/"))
            commands = [[*image.entry, *arguments] for arguments in _CHECKS]
            outputs = [run_in_chroot(root, command, user=image.user, folder=image.folder) for command in commands]
            builder = "a root file system of mmdebstrap"
    check_first_run(outputs[0], artifact="the image")
    check_numbers(outputs[1], artifact="the image")
    print(outputs[0])
    print(f"image: built and used with {builder}; its numbers are the same bytes as this checkout's")


def main() -> None:
    """Build the image, and check it if the command line says so."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.image", description="Build the container image.")
    parser.add_argument("--check", action="store_true", help="run the first experiment in it")
    parser.add_argument("--chroot", action="store_true", help="check the steps without a container engine")
    options = parser.parse_args()
    if not any((ROOT / "build" / "wheelhouse").glob("mptcplab*.whl")):
        raise MissingError("build/wheelhouse has no wheels of mptcplab", hint="make image, or make wheelhouse")
    if options.check or options.chroot:
        check(is_chroot=options.chroot)
        return
    with ExitStack() as stack:
        program = find_engine(stack)
        if program is None:
            raise MissingError("no container engine works here: docker, podman or buildah", hint="make image-check")
        engine, base = program
        engine.build(base)
    print(f"{NAME}: built with {engine.name}")


if __name__ == "__main__":
    run_main(main, name="release")
