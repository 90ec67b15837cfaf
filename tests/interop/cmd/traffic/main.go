// Command traffic sends UDP packets between two SCION hosts along a chosen path
// and checks every byte that comes back.
//
//	traffic serve -listen 10.0.0.1:31500
//	traffic send -listen 10.0.0.1:0 -remote 1-ff00:0:112,10.0.0.2:31500 -interfaces 41,1,3,3
//	traffic send -epic lhvf -listen 10.0.0.1:0 -remote 1-ff00:0:112,10.0.0.2:31500 -interfaces 41,1,3,3
//	traffic probe -listen 10.0.0.1:31600 -remote 1-ff00:0:112,10.0.0.2:31500 -interfaces 41,1,3,3
//	traffic provoke -listen 10.0.0.1:0 -remote 1-ff00:0:112,10.0.0.2:31500 -service 7
//
// The server echoes. The sender keeps a window of packets under way, so it loads
// the routers on the path in both directions without overrunning the hosts'
// socket buffers: on a sound path nothing is lost. It prints its result as JSON
// and exits with status 1 if a packet was lost or came back changed. Provoke sends
// one packet that a router must refuse, and prints the SCMP error that it answers.
// Probe sends one router an authenticated traceroute request, and prints its reply.
// With -epic, packets have a path of type EPIC-HP, sound or with one fault that a
// router must find.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/scionproto/scion/pkg/addr"
	"github.com/scionproto/scion/pkg/daemon"
	"github.com/scionproto/scion/pkg/snet"
)

const (
	sequenceBytes = 8
	patience      = 500 * time.Millisecond // without an echo, what is under way is lost
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: traffic serve|send|provoke|probe [flags]; see traffic send -h")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	sciond := flags.String("sciond", "127.0.0.1:30255", "address of the SCION daemon")
	listen := flags.String("listen", "", "local `address:port`")
	remote := flags.String("remote", "", "server, as `ISD-AS,host:port`")
	interfaces := flags.String("interfaces", "", "interface ids along the path, e.g. 41,1,3,3")
	count := flags.Int("count", 1000, "packets to send")
	size := flags.Int("size", 1000, "payload bytes per packet")
	window := flags.Int("window", 64, "packets under way at most")
	service := flags.Uint("service", 0, "provoke: send to this service of the remote AS")
	kind := flags.String("epic", "", "path type EPIC-HP: good, or wrong in phvf, lhvf, old or future")
	last := flags.Bool("last", false, "probe: the last router of the path, not the first")
	spoiled := flags.Bool("spoil", false, "probe: with a wrong authenticator")
	authentic := flags.Bool("authentic", false, "provoke: verify the error's authenticator with a DRKey of the daemon")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	local, err := net.ResolveUDPAddr("udp", *listen)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	ctx := context.Background()
	connector, err := daemon.NewService(*sciond).Connect(ctx)
	if err != nil {
		return fmt.Errorf("connecting to the daemon: %w", err)
	}
	defer connector.Close()
	topology, err := daemon.LoadTopology(ctx, connector)
	if err != nil {
		return fmt.Errorf("asking the daemon: %w", err)
	}
	// A packet that a router refuses is lost, and counted so.
	network := &snet.SCIONNetwork{Topology: topology, SCMPHandler: ignored{}}

	switch args[0] {
	case "serve":
		return serve(ctx, network, local)
	case "send", "provoke", "probe":
		to, err := snet.ParseUDPAddr(*remote)
		if err != nil {
			return fmt.Errorf("-remote: %w", err)
		}
		if *size < sequenceBytes || *count < 1 || *window < 1 {
			return fmt.Errorf("-size must be at least %d, -count and -window at least 1", sequenceBytes)
		}
		path, err := choosePath(ctx, connector, topology.LocalIA, to, *interfaces)
		if err != nil {
			return err
		}
		if *kind != "" {
			if to.Path, err = epicPath(path, *kind); err != nil {
				return fmt.Errorf("-epic: %w", err)
			}
		}
		keys := &keys{ctx, connector, topology.LocalIA}
		if args[0] == "probe" {
			return keys.probe(local, to, path, *last, *spoiled)
		}
		if args[0] == "provoke" {
			if !*authentic {
				keys = nil
			}
			return provoke(ctx, network, local, to, addr.SVC(*service), *size, keys)
		}
		return send(ctx, network, local, to, *count, *size, *window)
	default:
		return fmt.Errorf("unknown verb %q", args[0])
	}
}

// withoutFlags is a request for paths with none of its flags, whose type is in another package since v0.15.
func withoutFlags[F any](
	paths func(context.Context, addr.IA, addr.IA, F) ([]snet.Path, error),
) func(context.Context, addr.IA, addr.IA) ([]snet.Path, error) {
	return func(ctx context.Context, destination, source addr.IA) ([]snet.Path, error) {
		var none F
		return paths(ctx, destination, source, none)
	}
}

// choosePath looks up the path with exactly these interface ids, sets it in to, and returns it.
func choosePath(
	ctx context.Context, connector daemon.Connector, source addr.IA, to *snet.UDPAddr, want string,
) (snet.Path, error) {
	paths, err := withoutFlags(connector.Paths)(ctx, to.IA, source)
	if err != nil {
		return nil, fmt.Errorf("asking for paths: %w", err)
	}
	var seen []string
	for _, path := range paths {
		var ids []string
		for _, hop := range path.Metadata().Interfaces {
			ids = append(ids, fmt.Sprint(uint64(hop.ID)))
		}
		if got := strings.Join(ids, ","); want == "" || got == want {
			to.Path = path.Dataplane()
			to.NextHop = path.UnderlayNextHop()
			return path, nil
		} else {
			seen = append(seen, got)
		}
	}
	return nil, fmt.Errorf("no path with interfaces %q; there are: %s", want, strings.Join(seen, "; "))
}

// serve echoes every packet along its reversed path until the process is ended.
func serve(ctx context.Context, network *snet.SCIONNetwork, local *net.UDPAddr) error {
	conn, err := network.Listen(ctx, "udp", local)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Println("serving", conn.LocalAddr())
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return err
		}
		if _, err := conn.WriteTo(buffer[:n], from); err != nil {
			return err
		}
	}
}

// result is what a sender prints.
type result struct {
	Sent    int     `json:"sent"`
	Echoed  int     `json:"echoed"`
	Lost    int     `json:"lost"`
	Changed int     `json:"changed"`
	Seconds float64 `json:"seconds"`
}

func send(
	ctx context.Context, network *snet.SCIONNetwork, local *net.UDPAddr, to *snet.UDPAddr,
	count, size, window int,
) error {
	conn, err := network.Dial(ctx, "udp", local, to)
	if err != nil {
		return err
	}
	defer conn.Close()
	out, in := make([]byte, size), make([]byte, 1<<16)
	echoed := make([]bool, count)
	var total result
	begin := time.Now()
	underWay := 0
	for total.Sent < count || underWay > 0 {
		if total.Sent < count && underWay < window {
			fill(out, total.Sent)
			if _, err := conn.Write(out); err != nil {
				return err
			}
			total.Sent++
			underWay++
			continue
		}
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		n, err := conn.Read(in)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			underWay = 0
			continue
		} else if err != nil {
			return err
		}
		underWay = max(underWay-1, 0)
		sequence, good := check(in[:n], size, total.Sent)
		if !good || echoed[sequence] {
			total.Changed++
			continue
		}
		echoed[sequence] = true
		total.Echoed++
	}
	total.Seconds = time.Since(begin).Seconds()
	total.Lost = total.Sent - total.Echoed
	if err := json.NewEncoder(os.Stdout).Encode(total); err != nil {
		return err
	}
	if total.Lost > 0 || total.Changed > 0 {
		return fmt.Errorf("%d of %d packets lost, %d changed", total.Lost, total.Sent, total.Changed)
	}
	return nil
}

// ignored makes reading go on after an SCMP message.
type ignored struct{}

// Handle does nothing.
func (ignored) Handle(*snet.Packet) error { return nil }

// fill writes the payload of one packet: its number, then bytes that depend on it.
func fill(payload []byte, sequence int) {
	binary.BigEndian.PutUint64(payload, uint64(sequence))
	for i := sequenceBytes; i < len(payload); i++ {
		payload[i] = byte(sequence*31 + i)
	}
}

// check returns the packet's number and whether the payload is what fill wrote.
func check(payload []byte, size, sent int) (int, bool) {
	if len(payload) != size {
		return 0, false
	}
	sequence := binary.BigEndian.Uint64(payload)
	if sequence >= uint64(sent) {
		return 0, false
	}
	for i := sequenceBytes; i < len(payload); i++ {
		if payload[i] != byte(int(sequence)*31+i) {
			return 0, false
		}
	}
	return int(sequence), true
}
