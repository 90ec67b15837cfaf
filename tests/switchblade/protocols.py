"""What four VDPs with four protocols do, by p4/switchblade/four_protocols.stf."""

from lab.frames import ethernet, ipv4, ipv6, splicing, udp


def vdp(number):
    return f"0200000000{number:02x}"


def to(neighbour, number, kind, payload):
    """A frame from a VDP to a neighbour."""
    return ethernet(f"0600000000{neighbour:02x}", kind, payload, src=vdp(number))


class FourProtocols:
    """For test cases that have `send(port, frame)` and `receive(port)`."""

    def forwards(self, frame, port, expected):
        self.send(0, frame)
        self.assertEqual(self.receive(port), expected)

    def check_four_protocols(self):
        data = udp(1000, 2000)
        source = "192.0.2.1"
        for net in (1, 2):
            dst = f"10.{net}.0.1"
            expected = to(net, 1, 0x0800, ipv4(source, dst, data, ttl=63))
            self.forwards(ethernet(vdp(1), 0x0800, ipv4(source, dst, data)), net, expected)
            dst = f"2001:db8:{net}::1"
            expected = to(net, 2, 0x86DD, ipv6("2001:db8::1", dst, data, hop_limit=63))
            self.forwards(ethernet(vdp(2), 0x86DD, ipv6("2001:db8::1", dst, data)), net, expected)
        for indices in range(16):
            slice_ = indices & 3
            port, neighbour = (slice_ + 1, slice_ + 1) if slice_ < 3 else (0, 4)
            packet = lambda indices, ttl: ipv4(source, "10.9.9.9", splicing(indices, data), protocol=253, ttl=ttl)
            expected = to(neighbour, 3, 0x0800, packet(indices >> 2, 63))
            self.forwards(ethernet(vdp(3), 0x0800, packet(indices, 64)), port, expected)
        frame = ethernet(vdp(4), 0x0800, ipv4(source, "10.1.0.1", data))
        self.forwards(frame, 3, frame)
