# SPDX-License-Identifier: MIT
"""``mptcplab fit``: the operator's twin, a scenario made of what was observed on real machines, or of typed lines.

`packets` measures how packets of each path travelled, `lines` estimates each line from that or from samples of sockets,
`observation` combines all that files show, `typed` reads lines that somebody typed, `twin` writes the scenario,
`beside` compares the twin with the observation, `advise` names changes and ranks them, and `tables` shows all of that.
Nothing here runs a lab: `api/twins.py` does.
"""
