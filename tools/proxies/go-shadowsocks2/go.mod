// SPDX-License-Identifier: MIT
//
// Pins the module that `mptcplab gateways build go-shadowsocks2` builds; go.sum has the checksums of everything in it.
module mptcplab/go-shadowsocks2

go 1.24.0

require github.com/shadowsocks/go-shadowsocks2 v0.1.5

require (
	github.com/riobard/go-bloom v0.0.0-20200614022211-cdc8013cb5b3 // indirect
	golang.org/x/crypto v0.0.0-20210220033148-5ea612d1eb83 // indirect
	golang.org/x/sys v0.0.0-20191026070338-33540a1f6037 // indirect
)
