# SPDX-License-Identifier: MIT
"""Behaviours of link directions, one module each; see :class:`mptcplab.network.behaviour.Behaviour`."""
