package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/gopacket/gopacket"

	"github.com/scionproto/scion/pkg/addr"
	"github.com/scionproto/scion/pkg/daemon"
	"github.com/scionproto/scion/pkg/drkey"
	"github.com/scionproto/scion/pkg/slayers"
	"github.com/scionproto/scion/pkg/slayers/path/scion"
	"github.com/scionproto/scion/pkg/snet"
	snetpath "github.com/scionproto/scion/pkg/snet/path"
	"github.com/scionproto/scion/pkg/spao"
)

// keys are those that the host's daemon has for SCMP messages between other ASes and this host.
type keys struct {
	ctx       context.Context
	connector daemon.Connector
	local     addr.IA
}

// of returns the key between an AS and this host.
func (k *keys) of(remote addr.IA, host addr.Host) (drkey.ASHostKey, error) {
	key, err := k.connector.DRKeyGetASHostKey(k.ctx, drkey.ASHostMeta{
		ProtoId: drkey.SCMP, Validity: time.Now(), SrcIA: remote, DstIA: k.local, DstHost: host.IP().String(),
	})
	if err != nil {
		return key, fmt.Errorf("asking for the key: %w", err)
	}
	return key, nil
}

// verify checks the authenticator of an SCMP message: "yes", or why it is not good.
func (k *keys) verify(packet []byte) string {
	if err := k.check(packet); err != nil {
		return err.Error()
	}
	return "yes"
}

func (k *keys) check(packet []byte) error {
	var layer slayers.SCION
	if err := layer.DecodeFromBytes(packet, gopacket.NilDecodeFeedback); err != nil {
		return err
	}
	if layer.NextHdr != slayers.End2EndClass {
		return errors.New("no end-to-end extension")
	}
	var extension slayers.EndToEndExtn
	if err := extension.DecodeFromBytes(layer.Payload, gopacket.NilDecodeFeedback); err != nil {
		return err
	}
	option, err := extension.FindOption(slayers.OptTypeAuthenticator)
	if err != nil {
		return err
	}
	authenticator, err := slayers.ParsePacketAuthOption(option)
	if err != nil {
		return err
	}
	host, err := layer.DstAddr()
	if err != nil {
		return err
	}
	key, err := k.of(layer.SrcIA, host)
	if err != nil {
		return err
	}
	if age := time.Since(spao.AbsoluteTimestamp(key.Epoch, authenticator.TimestampSN())); age.Abs() > 10*time.Second {
		return fmt.Errorf("the authenticator is %s old", age)
	}
	tag, err := sign(key, authenticator, &layer, extension.Payload)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(tag, authenticator.Authenticator()) != 1 {
		return errors.New("the authenticator is wrong")
	}
	return nil
}

// sign computes the tag of an SCMP message.
func sign(key drkey.ASHostKey, option slayers.PacketAuthOption, layer *slayers.SCION, message []byte) ([]byte, error) {
	return spao.ComputeAuthCMAC(spao.MACInput{
		Key: key.Key[:], Header: option, ScionLayer: layer, PldType: slayers.L4SCMP, Pld: message,
	}, make([]byte, spao.MACBufferSize), make([]byte, 16))
}

// probe asks one router of the path for itself, and prints its traceroute reply: that of the first interface of the path, or of the last
// one. The request has an authenticator, of which one bit is wrong with spoil.
func (k *keys) probe(local *net.UDPAddr, to *snet.UDPAddr, path snet.Path, last, spoil bool) error {
	conn, err := net.ListenUDP("udp", local)
	if err != nil {
		return err
	}
	defer conn.Close()
	request, err := k.request(conn.LocalAddr().(*net.UDPAddr), to, path, last, spoil)
	if err != nil {
		return err
	}
	if _, err := conn.WriteTo(request, to.NextHop); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(4 * patience)); err != nil {
		return err
	}
	reply := make([]byte, 1<<16)
	n, _, err := conn.ReadFrom(reply)
	if err != nil {
		return fmt.Errorf("no reply: %w", err)
	}
	message := snet.Packet{Bytes: reply[:n]}
	if err := message.Decode(); err != nil {
		return err
	}
	answer, ok := message.Payload.(snet.SCMPTracerouteReply)
	if !ok {
		return fmt.Errorf("not a traceroute reply: %T", message.Payload)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"from": answer.IA.String(), "interface": answer.Interface, "authentic": k.verify(reply[:n]),
	})
}

// request makes the traceroute request.
func (k *keys) request(from *net.UDPAddr, to *snet.UDPAddr, path snet.Path, last, spoil bool) ([]byte, error) {
	plain, ok := path.Dataplane().(snetpath.SCION)
	if !ok {
		return nil, errors.New("the path is not of type SCION")
	}
	var hops scion.Decoded
	if err := hops.DecodeFromBytes(plain.Raw); err != nil {
		return nil, err
	}
	interfaces := path.Metadata().Interfaces
	router := interfaces[0].IA
	// Flags are named as in construction direction.
	if hop := &hops.HopFields[0]; !last {
		forth := hops.InfoFields[0].ConsDir
		hop.EgressRouterAlert, hop.IngressRouterAlert = forth, !forth
	} else {
		router = interfaces[len(interfaces)-1].IA
		hop, forth := &hops.HopFields[len(hops.HopFields)-1], hops.InfoFields[len(hops.InfoFields)-1].ConsDir
		hop.EgressRouterAlert, hop.IngressRouterAlert = !forth, forth
	}
	layer := &slayers.SCION{
		FlowID: 1, NextHdr: slayers.End2EndClass, PathType: scion.PathType, Path: &hops, DstIA: to.IA, SrcIA: k.local,
	}
	source := addr.HostIP(from.AddrPort().Addr().Unmap())
	if err := errors.Join(layer.SetSrcAddr(source), layer.SetDstAddr(addr.HostIP(to.Host.AddrPort().Addr().Unmap()))); err != nil {
		return nil, err
	}
	scmp := &slayers.SCMP{TypeCode: slayers.CreateSCMPTypeCode(slayers.SCMPTypeTracerouteRequest, 0)}
	scmp.SetNetworkLayerForChecksum(layer)
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	message := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(message, options, scmp, &slayers.SCMPTraceroute{Identifier: uint16(from.Port), Sequence: 7})
	if err != nil {
		return nil, err
	}
	extension, err := k.extension(router, source, layer, message.Bytes(), spoil)
	if err != nil {
		return nil, err
	}
	packet := gopacket.NewSerializeBuffer()
	err = gopacket.SerializeLayers(packet, options, layer, extension, gopacket.Payload(message.Bytes()))
	return packet.Bytes(), err
}

// extension makes the end-to-end extension with the host's authenticator for a router.
func (k *keys) extension(
	router addr.IA, host addr.Host, layer *slayers.SCION, message []byte, spoil bool,
) (*slayers.EndToEndExtn, error) {
	key, err := k.of(router, host)
	if err != nil {
		return nil, err
	}
	spi, err := slayers.MakePacketAuthSPIDRKey(uint16(drkey.SCMP), slayers.PacketAuthASHost, slayers.PacketAuthReceiverSide)
	if err != nil {
		return nil, err
	}
	stamp, err := spao.RelativeTimestamp(key.Epoch, time.Now())
	if err != nil {
		return nil, err
	}
	option, err := slayers.NewPacketAuthOption(slayers.PacketAuthOptionParams{
		SPI: spi, Algorithm: slayers.PacketAuthCMAC, TimestampSN: stamp, Auth: make([]byte, 16),
	})
	if err != nil {
		return nil, err
	}
	tag, err := sign(key, option, layer, message)
	if err != nil {
		return nil, err
	}
	copy(option.Authenticator(), tag)
	if spoil {
		option.Authenticator()[15] ^= 1
	}
	extension := &slayers.EndToEndExtn{Options: []*slayers.EndToEndOption{option.EndToEndOption}}
	extension.NextHdr = slayers.L4SCMP
	return extension, nil
}
