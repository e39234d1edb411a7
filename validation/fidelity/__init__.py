# SPDX-License-Identifier: MIT
"""How true is the lab? The same scenarios in every engine, side by side: docs/fidelity.md."""
