// SPDX-License-Identifier: MIT
//
// Pins the module that `mptcplab gateways build go-shadowsocks2-0.0.11` builds; go.sum has the checksums of everything in it.
module mptcplab/go-shadowsocks2-0.0.11

go 1.24.0

require github.com/shadowsocks/go-shadowsocks2 v0.0.11

require (
	github.com/aead/chacha20 v0.0.0-20180709150244-8b13a72661da // indirect
	golang.org/x/crypto v0.0.0-20210220033148-5ea612d1eb83 // indirect
	golang.org/x/sys v0.0.0-20191026070338-33540a1f6037 // indirect
)
