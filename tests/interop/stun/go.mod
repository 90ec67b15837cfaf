module hopwright.dev/interop/stun

go 1.26.4

require github.com/scionproto/scion v0.15.1
