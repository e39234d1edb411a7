/* SPDX-License-Identifier: MIT */
#define TARGET_US 5000
