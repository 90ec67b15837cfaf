// Records what the reference router does with Hummingbird packets. hummingbird.sh puts this file into the reference's package `router`,
// whose parts for tests it uses. The router is that of `rich_links` in crates/agents/scion/src/synthetic.
//
// HOPWRIGHT_RECORD is the file to write, HOPWRIGHT_CASES the number of packets, HOPWRIGHT_SEED the seed.

package router

import (
	"crypto/aes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/pbkdf2"

	"github.com/scionproto/scion/pkg/addr"
	"github.com/scionproto/scion/pkg/private/ptr"
	"github.com/scionproto/scion/pkg/scrypto"
	"github.com/scionproto/scion/pkg/slayers"
	"github.com/scionproto/scion/pkg/slayers/path"
	"github.com/scionproto/scion/pkg/slayers/path/hummingbird"
	"github.com/scionproto/scion/private/topology"
	"github.com/scionproto/scion/router/control"
	pr "github.com/scionproto/scion/router/priority"
)

const (
	master  = "a key for tests and benchmarks only"
	localIA = "1-ff00:0:1"
)

// The first byte of all underlay addresses: 10, or 127 for a router that runs on this machine.
var network = 10

func internalAddr() string { return fmt.Sprintf("%d.0.0.1:30042", network) }
func hostAddr() string     { return fmt.Sprintf("%d.0.0.81", network) }

var externals = map[uint16]topology.LinkType{
	1: topology.Core, 2: topology.Child, 3: topology.Child, 4: topology.Parent, 5: topology.Peer, 8: topology.Parent,
}

var siblings = map[uint16]topology.LinkType{
	11: topology.Core, 12: topology.Child, 13: topology.Parent, 14: topology.Peer, 21: topology.Child, 22: topology.Parent,
}

func siblingOf(ifID uint16) string {
	if ifID < 20 {
		return fmt.Sprintf("%d.0.0.2:30042", network)
	}
	return fmt.Sprintf("%d.0.0.3:30042", network)
}

// Both ends of a link, and where its packets come from.
func linkEnds(ifID uint16) (string, string) {
	return fmt.Sprintf("%d.%d.0.1:50000", network, ifID), fmt.Sprintf("%d.%d.0.2:50000", network, ifID)
}

// record is a packet and what became of it.
type record struct {
	// "ext:N", "sib:N" with an interface of the sibling, or "int".
	From   string `json:"from"`
	NowUs  int64  `json:"now_us"`
	Packet string `json:"packet"`
	// "forward", "slow" or "drop".
	Result   string `json:"result"`
	Egress   uint16 `json:"egress,omitempty"`
	Priority bool   `json:"priority,omitempty"`
	Out      string `json:"out,omitempty"`
	// What the slow path answers.
	Answer string `json:"answer,omitempty"`
	// What was done to it, for people.
	What string `json:"what"`
}

func newRecordedRouter(t *testing.T) *dataPlane {
	dp := makeDataPlane(RunConfig{NumProcessors: 1, BatchSize: 64}, false)
	require.NoError(t, dp.SetIA(addr.MustParseIA(localIA)))
	dp.SetPortRange(1024, 1<<16-1)
	dp.underlays["udpip"].SetConnOpener(MockConnOpener{})
	host := func(text string) addr.Host { return addr.HostIP(netip.MustParseAddrPort(text).Addr()) }
	internal := internalAddr()
	require.NoError(t, dp.AddInternalInterface(host(internal), "udpip", internal))
	link := func(local, remote string, kind topology.LinkType) control.LinkInfo {
		return control.LinkInfo{
			Provider: "udpip",
			Local:    control.LinkEnd{IA: addr.MustParseIA(localIA), Addr: local},
			Remote:   control.LinkEnd{IA: addr.MustParseIA("1-ff00:0:3"), Addr: remote},
			BFD:      control.BFD{Disable: ptr.To(true)},
			LinkTo:   kind,
		}
	}
	for id, kind := range externals {
		local, remote := linkEnds(id)
		require.NoError(t, dp.AddExternalInterface(id, link(local, remote, kind), host(local), host(remote)))
	}
	for id, kind := range siblings {
		remote := siblingOf(id)
		require.NoError(t, dp.AddNextHop(id, link(internal, remote, kind), host(internal), host(remote)))
	}
	require.NoError(t, dp.SetKey(hopKey()))
	require.NoError(t, dp.SetHbirdKey(hummingbird.DeriveSecretValue([]byte(master))))
	return &dp
}

func hopKey() []byte {
	return pbkdf2.Key([]byte(master), []byte("Derive OF Key"), 1000, 16, sha256.New)
}

// generator makes packets.
type generator struct {
	*rand.Rand
	t   *testing.T
	now time.Time
}

func pick[T any](g *generator, from ...T) T {
	return from[g.Intn(len(from))]
}

// hop makes a hop field travelled from one interface to another.
func (g *generator) hop(consDir bool, in, out uint16) hummingbird.FlyoverHopField {
	if !consDir {
		in, out = out, in
	}
	hop := hummingbird.FlyoverHopField{HopField: path.HopField{ConsIngress: in, ConsEgress: out, ExpTime: 63}}
	g.Read(hop.HopField.Mac[:])
	return hop
}

// reserve makes a flyover, most of the time a valid one.
func (g *generator) reserve(hop *hummingbird.FlyoverHopField) {
	hop.Flyover = true
	hop.ResID = uint32(g.Intn(1 << 22))
	hop.Bw = uint16(pick(g, 1023, 64, 32+g.Intn(900), 0))
	hop.ResStartTime = uint16(10 + g.Intn(1000))
	hop.Duration = hop.ResStartTime + uint16(10+g.Intn(1000))
}

// scenario is where a packet comes from, by which interfaces it passes, and how its path goes there.
type scenario struct {
	name string
	from string
	// Interfaces by which it enters and leaves the AS; 0 is inside.
	in, out uint16
	// At the current hop: the segment ends here, it begins here (and the packet comes from a sibling), there is a peering link.
	xover, afterXover, peering bool
}

func (g *generator) scenario() scenario {
	ext := func(id uint16) string { return fmt.Sprintf("ext:%d", id) }
	sib := func(id uint16) string { return fmt.Sprintf("sib:%d", id) }
	// Ways that link types allow, those of siblings above 10.
	inSegment := [][2]uint16{{2, 4}, {3, 4}, {4, 2}, {8, 3}, {1, 11}, {2, 13}, {3, 22}, {4, 12}, {4, 21}}
	fromSibling := [][2]uint16{{11, 1}, {12, 4}, {21, 4}, {13, 2}, {22, 3}}
	atChange := [][2]uint16{{2, 3}, {2, 1}, {1, 3}, {2, 12}, {3, 11}, {1, 21}}
	afterChange := [][2]uint16{{12, 2}, {12, 1}, {11, 3}, {21, 1}}
	switch g.Intn(8) {
	case 0:
		in := pick[uint16](g, 1, 2, 4)
		return scenario{name: "in", from: ext(in), in: in}
	case 1:
		return scenario{name: "out", from: "int", out: pick[uint16](g, 1, 2, 3, 4)}
	case 2, 3:
		w := pick(g, inSegment...)
		return scenario{name: "transit", from: ext(w[0]), in: w[0], out: w[1]}
	case 4:
		w := pick(g, fromSibling...)
		return scenario{name: "out_transit", from: sib(w[0]), in: w[0], out: w[1]}
	case 5:
		w := pick(g, atChange...)
		return scenario{name: "change", from: ext(w[0]), in: w[0], out: w[1], xover: true}
	case 6:
		w := pick(g, afterChange...)
		return scenario{name: "after_change", from: sib(w[0]), in: w[0], out: w[1], afterXover: true}
	default:
		w := pick(g, [2]uint16{5, 2}, [2]uint16{2, 5}, [2]uint16{5, 12}, [2]uint16{3, 14}, [2]uint16{14, 2}, [2]uint16{12, 5})
		from := ext(w[0])
		if w[0] > 10 {
			from = sib(w[0])
		}
		return scenario{name: "peering", from: from, in: w[0], out: w[1], peering: true}
	}
}

// made is a packet before it has become bytes.
type made struct {
	scn  *slayers.SCION
	path *hummingbird.Decoded
	// Indices of the current hop and segment.
	hop, seg int
}

func lines(hop hummingbird.FlyoverHopField) int {
	if hop.Flyover {
		return hummingbird.FlyoverLines
	}
	return hummingbird.HopLines
}

func (g *generator) packet(s scenario) made {
	local := addr.MustParseIA(localIA)
	scn := &slayers.SCION{
		TrafficClass: 0xb8, FlowID: 0xdead, NextHdr: slayers.L4UDP, PathType: hummingbird.PathType,
		SrcIA: addr.MustParseIA("2-ff00:0:777"), DstIA: addr.MustParseIA("2-ff00:0:778"),
	}
	src, dst := "10.8.0.1", "10.9.0.1"
	if s.from == "int" {
		scn.SrcIA, src = local, hostAddr()
	}
	if s.out == 0 {
		scn.DstIA, dst = local, hostAddr()
	}
	require.NoError(g.t, scn.SetSrcAddr(addr.MustParseHost(src)))
	require.NoError(g.t, scn.SetDstAddr(addr.MustParseHost(dst)))

	// Hops of the segments before, the current and behind; which hop is current.
	consDir := func() bool { return g.Intn(2) == 0 }
	other := func(n int) (hops []int) {
		for range n {
			hops = append(hops, 0)
		}
		return
	}
	type seg struct {
		cons bool
		hops []int // 0: elsewhere, 1: current, 2: next, 3: previous
	}
	var segs []seg
	more := func() []int { return other(1 + g.Intn(3)) }
	switch {
	case s.from == "int":
		segs = []seg{{consDir(), append([]int{1}, more()...)}}
	case s.out == 0:
		segs = []seg{{consDir(), append(more(), 1)}}
	case s.xover:
		segs = []seg{{consDir(), append(more(), 1)}, {consDir(), append([]int{2}, more()...)}}
	case s.afterXover:
		segs = []seg{{consDir(), append(more(), 3)}, {consDir(), append([]int{1}, more()...)}}
	case s.peering && (s.in == 5 || s.in == 14):
		segs = []seg{{false, more()}, {true, append([]int{1}, more()...)}}
	case s.peering:
		segs = []seg{{false, append(more(), 1)}, {true, more()}}
	default:
		segs = []seg{{consDir(), append(append(more(), 1), more()...)}}
	}
	if !s.peering && s.out != 0 && g.Intn(2) == 0 && len(segs) < 3 {
		segs = append(segs, seg{consDir(), append(more(), other(1)...)})
	}
	if !s.peering && s.from != "int" && g.Intn(2) == 0 && len(segs) < 3 {
		segs = append([]seg{{consDir(), append(more(), other(1)...)}}, segs...)
	}

	p := &hummingbird.Decoded{}
	p.NumINF = len(segs)
	p.PathMeta.BaseTS = uint32(g.now.Unix()) - uint32(g.Intn(2))
	age := g.now.Sub(time.Unix(int64(p.PathMeta.BaseTS), 0)).Milliseconds()
	p.PathMeta.HighResTS = uint32(min(age, 1023))<<22 | uint32(g.Intn(1<<22))
	m := made{scn: scn, path: p}
	for i, seg := range segs {
		info := path.InfoField{Peer: s.peering, ConsDir: seg.cons, SegID: uint16(g.Intn(1 << 16)),
			Timestamp: uint32(g.now.Unix()) - uint32(g.Intn(3600))}
		p.InfoFields = append(p.InfoFields, info)
		for _, kind := range seg.hops {
			in, out := uint16(g.Intn(200)), uint16(g.Intn(200))
			switch {
			case kind == 1 && s.xover:
				in, out = s.in, 0
			case kind == 1 && s.afterXover:
				in, out = 0, s.out
			case kind == 1:
				in, out = s.in, s.out
				m.hop, m.seg = len(p.HopFields), i
			case kind == 2:
				in, out = 0, s.out
			case kind == 3:
				in, out = s.in, 0
			}
			if kind == 1 {
				m.hop, m.seg = len(p.HopFields), i
			}
			hop := g.hop(seg.cons, in, out)
			if kind == 1 && g.Intn(4) > 0 || kind == 0 && g.Intn(4) == 0 {
				g.reserve(&hop)
			}
			p.HopFields = append(p.HopFields, hop)
			p.PathMeta.SegLen[i] += uint8(lines(hop))
		}
	}
	for i, hop := range p.HopFields {
		if i == m.hop {
			p.PathMeta.CurrHF = uint8(p.NumLines)
		}
		p.NumLines += lines(hop)
	}
	p.PathMeta.CurrINF = uint8(m.seg)
	return m
}

// sign computes the MACs of the current hop, and of the next one at a segment change.
func (g *generator) sign(m made, s scenario, payload int) {
	key, err := scrypto.InitMac(hopKey())
	require.NoError(g.t, err)
	mac := func(info path.InfoField, hop path.HopField) [path.MacLen]byte {
		return path.MAC(key, info, hop, make([]byte, path.MACBufferSize))
	}
	hop, info := &m.path.HopFields[m.hop], &m.path.InfoFields[m.seg]
	plain := mac(*info, hop.HopField)
	if s.xover {
		next := &m.path.HopFields[m.hop+1]
		next.HopField.Mac = mac(m.path.InfoFields[m.seg+1], next.HopField)
	}
	hop.HopField.Mac = plain
	if hop.Flyover {
		block, err := aes.NewCipher(hummingbird.DeriveSecretValue([]byte(master)))
		require.NoError(g.t, err)
		meta := m.path.PathMeta
		ak := hummingbird.DeriveAuthKey(block, hop.ResID, hop.Bw, s.in, s.out, meta.BaseTS-uint32(hop.ResStartTime),
			hop.Duration, make([]byte, hummingbird.AkBufferSize))
		length := slayers.CmnHdrLen + m.scn.AddrHdrLen() + m.path.Len() + payload
		flyover := hummingbird.FullFlyoverMac(ak, m.scn.DstIA, uint16(length), hop.ResStartTime, meta.HighResTS,
			make([]byte, hummingbird.FlyoverMacBufferSize), make([]uint32, hummingbird.XkBufferSize))
		for i := range hop.HopField.Mac {
			hop.HopField.Mac[i] ^= flyover[i]
		}
	}
	// Against construction direction the hop is still in the chain when the packet comes from another AS.
	if !info.ConsDir && s.from[:3] == "ext" && !s.peering {
		info.UpdateSegID(plain)
	}
}

func (g *generator) bytes(m made, payload int) []byte {
	raw, err := m.path.ToRaw()
	require.NoError(g.t, err)
	m.scn.Path = raw
	udp := make([]byte, payload)
	g.Read(udp)
	copy(udp, []byte{0xc3, 0x50, 0xc3, 0x51, byte(payload >> 8), byte(payload), 0, 0})
	switch {
	case m.scn.NextHdr == slayers.L4SCMP:
		copy(udp, []byte{byte(slayers.SCMPTypeTracerouteRequest), 0, 0, 0, 0xc3, 0x50, 0, 7})
		clear(udp[8:24])
	case g.Intn(8) == 0 && payload >= 20:
		// Extension headers: hop-by-hop, end-to-end or both, of padding.
		m.scn.NextHdr = pick(g, slayers.HopByHopClass, slayers.End2EndClass)
		copy(udp, []byte{byte(slayers.L4UDP), 0, 1, 0, 0xc3, 0x50, 0xc3, 0x51, byte((payload - 4) >> 8), byte(payload - 4), 0, 0})
		if m.scn.NextHdr == slayers.HopByHopClass && g.Intn(2) == 0 {
			copy(udp, []byte{byte(slayers.End2EndClass), 0, 1, 0, byte(slayers.L4UDP), 1, 1, 4, 0, 0, 0, 0, 0xc3, 0x50, 0xc3, 0x51})
		}
	}
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true}
	require.NoError(g.t, gopacket.SerializeLayers(buffer, options, m.scn, gopacket.Payload(udp)))
	return buffer.Bytes()
}

// Faults. Those before the packet is signed keep MACs right.
var before = map[string]func(*generator, *made, scenario){
	"reservation is over": func(g *generator, m *made, _ scenario) { m.path.HopFields[m.hop].Duration = 5 },
	"hop has expired":     func(g *generator, m *made, _ scenario) { m.path.InfoFields[m.seg].Timestamp -= 90000 },
	"sent too long ago":   func(g *generator, m *made, _ scenario) { m.path.PathMeta.BaseTS -= 5 },
	"sent in the future":  func(g *generator, m *made, _ scenario) { m.path.PathMeta.BaseTS += 5 },
	"ingress alert":       func(g *generator, m *made, _ scenario) { m.path.HopFields[m.hop].HopField.IngressRouterAlert = true },
	"egress alert":        func(g *generator, m *made, _ scenario) { m.path.HopFields[m.hop].HopField.EgressRouterAlert = true },
	"source is this AS":   func(g *generator, m *made, _ scenario) { m.scn.SrcIA = addr.MustParseIA(localIA) },
	"destination differs": func(g *generator, m *made, _ scenario) {
		m.scn.DstIA = addr.MustParseIA(pick(g, localIA, "1-ff00:0:9"))
	},
	"start wraps": func(g *generator, m *made, _ scenario) { m.path.HopFields[m.hop].ResStartTime = 0xffff },
	"reservation to come": func(g *generator, m *made, _ scenario) {
		m.path.PathMeta.BaseTS += 3600
		m.path.HopFields[m.hop].ResStartTime = 0
	},
}

// Places of a packet's bytes that are damaged: from its path on, or its header.
func (g *generator) damage(packet []byte) string {
	at := pick(g, 36+g.Intn(24), 36+g.Intn(max(1, len(packet)-36)), 4+g.Intn(8), 48+g.Intn(40))
	if at >= len(packet) {
		at = 36
	}
	bit := byte(1) << g.Intn(8)
	packet[at] ^= bit
	return fmt.Sprintf("bit %#x of byte %d", bit, at)
}

func (d *dataPlane) record(t *testing.T, s scenario, packet []byte, what string) (r record, ok bool) {
	raw := NewPacket(packet, nil, nil, 0, 0)
	raw.PriorityLabel = pr.WithBestEffort
	raw.Link = d.interfaces[0]
	if s.from != "int" {
		id, err := strconv.ParseUint(s.from[4:], 10, 16)
		require.NoError(t, err)
		raw.Link = d.interfaces[id]
	}
	defer func() {
		// The reference ends with some packets.
		if e := recover(); e != nil {
			ok = false
		}
	}()
	d.tokenBuckets.Clear()
	started := time.Now()
	p := newPacketProcessor(d)
	disposition := p.processPkt(raw)
	ended := time.Now()
	r = record{From: s.from, NowUs: started.UnixMicro(), Packet: hex.EncodeToString(packet), What: s.name + ": " + what}
	switch disposition {
	case pForward:
		r.Result, r.Egress, r.Out = "forward", raw.egress, hex.EncodeToString(raw.RawPacket)
		r.Priority = raw.PriorityLabel == pr.WithPriority
	case pSlowPath:
		r.Result = "slow"
		if err := newSlowPathProcessor(d).processPacket(raw); err == nil {
			r.Answer = hex.EncodeToString(raw.RawPacket)
		}
	default:
		r.Result = "drop"
	}
	return r, ended.Sub(started) < 300*time.Millisecond
}

func TestRecordHummingbird(t *testing.T) {
	file := os.Getenv("HOPWRIGHT_RECORD")
	if file == "" {
		t.Skip("HOPWRIGHT_RECORD is not set")
	}
	number := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		require.NoError(t, err)
		return n
	}
	out, err := os.Create(file)
	require.NoError(t, err)
	defer out.Close()
	d := newRecordedRouter(t)
	g := &generator{Rand: rand.New(rand.NewSource(int64(number("HOPWRIGHT_SEED")))), t: t}
	var faults []string
	for name := range before {
		faults = append(faults, name)
	}
	slices.Sort(faults)
	lines := json.NewEncoder(out)
	for count := number("HOPWRIGHT_CASES"); count > 0; {
		g.now = time.Now()
		s := g.scenario()
		m := g.packet(s)
		payload, what := 8+g.Intn(100), "good"
		kind := g.Intn(8)
		if kind == 0 {
			what = pick(g, faults...)
			before[what](g, &m, s)
			if strings.HasSuffix(what, "alert") && g.Intn(2) == 0 {
				m.scn.NextHdr, payload, what = slayers.L4SCMP, 24, what+" of traceroute"
			}
		}
		g.sign(m, s, payload)
		packet := g.bytes(m, payload)
		if kind <= 2 && kind > 0 {
			what = g.damage(packet)
		}
		r, ok := d.record(t, s, packet, what)
		if ok {
			require.NoError(t, lines.Encode(r))
			count--
		}
	}
}

// peers are the sockets around a router that runs on this machine: the other ends of its links, siblings and a host, by address.
type peers map[string]*net.UDPConn

func (p peers) open(t *testing.T, address string) {
	if p[address] == nil {
		addr, err := net.ResolveUDPAddr("udp", address)
		require.NoError(t, err)
		p[address], err = net.ListenUDP("udp", addr)
		require.NoError(t, err)
	}
}

// ends are the address that sends a scenario's packets, and the router's to which it does.
func (s scenario) ends() (string, string) {
	switch {
	case s.from == "int":
		return hostAddr() + ":50000", internalAddr()
	case s.from[:3] == "sib":
		return siblingOf(s.in), internalAddr()
	default:
		local, remote := linkEnds(s.in)
		return remote, local
	}
}

// to is the address at which a forwarded packet has to arrive.
func (r record) to() string {
	switch {
	case r.Egress == 0:
		return hostAddr() + ":50001"
	case externals[r.Egress] != 0:
		_, remote := linkEnds(r.Egress)
		return remote
	default:
		return siblingOf(r.Egress)
	}
}

// Sends packets to a router that runs on this machine with the configuration of hummingbird.sh: what arrives where has to be what the
// reference's router makes of them. HOPWRIGHT_LIVE is the number of packets.
//
// The router has no links to core ASes, see live.py.
func TestLiveHummingbird(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("HOPWRIGHT_LIVE"))
	if err != nil {
		t.Skip("HOPWRIGHT_LIVE is not set")
	}
	network = 127
	d := newRecordedRouter(t)
	g := &generator{Rand: rand.New(rand.NewSource(1)), t: t}
	around := peers{}
	for id := range externals {
		_, remote := linkEnds(id)
		around.open(t, remote)
	}
	for id := range siblings {
		around.open(t, siblingOf(id))
	}
	around.open(t, hostAddr()+":50000")
	around.open(t, hostAddr()+":50001")
	var faults []string
	for name := range before {
		faults = append(faults, name)
	}
	slices.Sort(faults)
	buffer := make([]byte, 9000)
	forwarded, answered, priority := 0, 0, 0
	for i := 0; i < count; i++ {
		g.now = time.Now()
		s := g.scenario()
		if core := []uint16{1, 11}; slices.Contains(core, s.in) || slices.Contains(core, s.out) {
			continue
		}
		m := g.packet(s)
		what := "good"
		if g.Intn(4) == 0 {
			what = pick(g, faults...)
			before[what](g, &m, s)
		}
		g.sign(m, s, 60)
		packet := g.bytes(m, 60)
		source, destination := s.ends()
		to, err := net.ResolveUDPAddr("udp", destination)
		require.NoError(t, err)
		r, ok := d.record(t, s, packet, what)
		if !ok || r.Result == "drop" {
			continue
		}
		_, err = around[source].WriteToUDP(packet, to)
		require.NoError(t, err)
		at := source
		if r.Result == "forward" {
			at = r.to()
		}
		require.NoError(t, around[at].SetReadDeadline(time.Now().Add(20*time.Second)))
		n, err := around[at].Read(buffer)
		require.NoError(t, err, "%s: nothing arrives at %s", r.What, at)
		if r.Result == "forward" {
			require.Equal(t, r.Out, hex.EncodeToString(buffer[:n]), r.What)
			forwarded++
			if r.Priority {
				priority++
			}
			continue
		}
		answered++
		theirs, err := hex.DecodeString(r.Answer)
		require.NoError(t, err)
		if len(theirs) == 0 || theirs[4] != byte(slayers.L4SCMP) {
			continue
		}
		scmp := func(packet []byte) []byte { return packet[4*int(packet[5]):][:2] }
		wanted := scmp(theirs)
		if what == "destination differs" && s.from[:3] != "ext" {
			// The reference calls a destination in this AS, from inside, a wrong source.
			wanted = []byte{byte(slayers.SCMPTypeParameterProblem), byte(slayers.SCMPCodeInvalidDestinationAddress)}
		}
		require.Equal(t, wanted, scmp(buffer[:n]), r.What)
	}
	t.Logf("%d packets forwarded, %d of them with a valid reservation, %d answered", forwarded, priority, answered)
	require.Greater(t, priority, forwarded/4)
}
