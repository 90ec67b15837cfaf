// Stun asks a border router which address it sees, with the STUN library of the reference's hosts (v0.15, pkg/snet):
// a release later than the one that the other tools are of, which is why this is a module of its own.
//
// It prints the address, or ends with status 1 if no answer comes.
package main

import (
	"fmt"
	"net"
	"os"
	"time"

	"github.com/scionproto/scion/pkg/stun"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: stun LOCAL ROUTER")
		os.Exit(2)
	}
	address, err := ask(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(address)
}

func ask(local, router string) (string, error) {
	dialer := net.Dialer{LocalAddr: nil}
	if local != "" {
		address, err := net.ResolveUDPAddr("udp", local)
		if err != nil {
			return "", err
		}
		dialer.LocalAddr = address
	}
	conn, err := dialer.Dial("udp", router)
	if err != nil {
		return "", err
	}
	id := stun.NewTxID()
	answer := make([]byte, 1500)
	// A host tries again after half a second, seven times (RFC 8489, 6.2.1).
	for range 7 {
		if _, err := conn.Write(stun.Request(id)); err != nil {
			return "", err
		}
		if err := conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
			return "", err
		}
		n, err := conn.Read(answer)
		if err != nil {
			continue
		}
		got, address, err := stun.ParseResponse(answer[:n])
		if err != nil {
			return "", err
		}
		if got != id {
			return "", fmt.Errorf("an answer to another request")
		}
		return address.String(), nil
	}
	return "", fmt.Errorf("no answer")
}
