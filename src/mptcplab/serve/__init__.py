# SPDX-License-Identifier: MIT
"""The live page: results folders, a form that starts an experiment, and its curves while it runs.

For one machine and the people in front of it. `guard` says who may ask, `form` what can be started, `runner` starts it
and ends it, `folders` what can be read, `app` answers.
"""
