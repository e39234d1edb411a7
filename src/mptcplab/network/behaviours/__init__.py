# SPDX-License-Identifier: MIT
"""Behaviours of a link's direction, one module each; see :class:`mptcplab.network.behaviour.Behaviour`."""
