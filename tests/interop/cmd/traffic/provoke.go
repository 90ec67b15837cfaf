package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/scionproto/scion/pkg/addr"
	"github.com/scionproto/scion/pkg/snet"
)

// complaint is the SCMP error that a packet got, as provoke prints it.
type complaint struct {
	Type uint8  `json:"type"`
	Code uint8  `json:"code"`
	From string `json:"from"`
	MTU  uint16 `json:"mtu,omitempty"`
	// Authentic says what became of the authenticator, if it was to be verified: "yes", or why not.
	Authentic string `json:"authentic,omitempty"`
}

func (c complaint) Error() string { return fmt.Sprintf("SCMP error %d/%d", c.Type, c.Code) }

// listener makes reading end with the first SCMP message. With keys it verifies the message's authenticator.
type listener struct {
	keys *keys
}

// Handle returns the message as an error.
func (l listener) Handle(packet *snet.Packet) error {
	message, ok := packet.Payload.(snet.SCMPPayload)
	if !ok {
		return errors.New("an SCMP packet without an SCMP message")
	}
	got := complaint{Type: uint8(message.Type()), Code: uint8(message.Code()), From: packet.Source.IA.String()}
	if tooBig, ok := message.(snet.SCMPPacketTooBig); ok {
		got.MTU = tooBig.MTU
	}
	if l.keys != nil {
		got.Authentic = l.keys.verify(packet.Bytes)
	}
	return got
}

// provoke sends one packet, to a service if one is named, and prints the error that comes back. With keys, it verifies that one's
// authenticator.
func provoke(
	ctx context.Context, network *snet.SCIONNetwork, local *net.UDPAddr, to *snet.UDPAddr,
	service addr.SVC, size int, keys *keys,
) error {
	network.SCMPHandler = listener{keys}
	conn, err := network.Listen(ctx, "udp", local)
	if err != nil {
		return err
	}
	defer conn.Close()
	var remote net.Addr = to
	if service != 0 {
		remote = &snet.SVCAddr{IA: to.IA, Path: to.Path, NextHop: to.NextHop, SVC: service}
	}
	if _, err := conn.WriteTo(make([]byte, size), remote); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(4 * patience)); err != nil {
		return err
	}
	_, _, err = conn.ReadFrom(make([]byte, 1<<16))
	var got complaint
	if !errors.As(err, &got) {
		return fmt.Errorf("no SCMP error came back: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}
