# SPDX-License-Identifier: MIT
"""Makes a release: checks that everything agrees, builds all artifacts, and uses each in an empty environment.

versions   the places that name a version, and what a release demands of the tree
image      the container image, and how it is tried
deb        the Debian package, and how it is tried
fidelity   all rows of the comparison of engines, and how they are checked
python -m tools.release   all of it
"""
