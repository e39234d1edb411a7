# SPDX-License-Identifier: MIT
"""The lab kernel of mptcplab and its programs, compiled. mptcplab finds them; source/README.md names their source."""
