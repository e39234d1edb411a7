// SPDX-License-Identifier: MIT

//go:build pinned

// Package program names the program, so that `go mod tidy` keeps its modules.
package program

import _ "github.com/vale-cli/vale/v3/cmd/vale"
