"""A model of how reservations are policed, by the design document: a bucket of tokens that holds what the reservation's bandwidth brings in
a second. It writes packets of some reservations with their times, and what should become of each, one packet a line:

    microseconds, reservation, interfaces in and out, bandwidth, start, duration, millisecond when sent, bytes of the packet, outcome

Tokens are fractions here, not counters. All times are from NOW on; the argument is the seed.
"""

import random
import sys
import zlib
from fractions import Fraction

NOW = 1_790_000_000_000_000
UNIT = 64                 # bytes a second
BUCKETS = 65536
SECOND = 1_000_000


class Bucket:
    """What the router remembers of a reservation."""

    def __init__(self, owner, now, rate):
        self.owner, self.seen, self.tokens = owner, now, Fraction(rate)

    def admits(self, now, rate, size):
        if now >= self.seen:
            self.tokens += Fraction(rate * (now - self.seen), SECOND)
            self.seen = now
        self.tokens = min(self.tokens, Fraction(rate))
        if self.tokens < size:
            return False
        self.tokens -= size
        return True


def place(res_id, ingress, egress):
    """Where a reservation has its bucket."""
    name = 1 << 54 | res_id << 32 | ingress << 16 | egress
    return zlib.crc32(name.to_bytes(8, "big")) % BUCKETS


def outcome(buckets, now, key, bandwidth, start, duration, sent, size):
    if not start * SECOND < now < (start + duration) * SECOND:
        return "not_valid"
    if abs(now - sent) > SECOND:
        return "not_fresh"
    rate, at = bandwidth * UNIT, place(*key)
    bucket = buckets.get(at)
    if bucket and bucket.owner != key and abs(now - bucket.seen) < SECOND:
        return "no_bucket"
    if not bucket or abs(now - bucket.seen) >= SECOND:
        bucket = buckets[at] = Bucket(key, now, rate)
    return "priority" if bucket.admits(now, rate, size) else "over_rate"


def rivals(rng, ways):
    """Two reservations that have their buckets in one place."""
    places = {}
    while True:
        key = (rng.randrange(1 << 22), *rng.choice(ways))
        rival = places.setdefault(place(*key), key)
        if rival != key:
            return [key, rival]


def main():
    rng = random.Random(int(sys.argv[1]))
    ways = [(2, 4), (3, 4), (4, 2), (8, 3), (4, 3)]
    keys = [(rng.randrange(1 << 22), *rng.choice(ways)) for _ in range(5)] + rivals(rng, ways)
    # The first three are busy. The same number between other interfaces is another reservation.
    keys[1] = (keys[0][0], *rng.choice([way for way in ways if way != keys[0][1:]]))
    bandwidths = {key: rng.choice([4, 16, 100, 1023, 0]) for key in keys}
    bandwidths[keys[0]] = 64
    buckets, now = {}, NOW
    for _ in range(int(sys.argv[2])):
        now += rng.choice([0, 7, 1000, 5000, 10_000, 20_000])
        if rng.random() < 0.03:
            # Nobody sends for long, or the clock goes back.
            now += rng.choice([2_500_000, 999_999, 1_000_000, 300_000, -3000, -2_000_000, 86_400 * SECOND])
        key = rng.choice(keys[:3] if rng.random() < 0.6 else keys)
        if rng.random() < 0.02:
            bandwidths[key] = rng.randrange(1024)
        base, millis = now // SECOND, now // 1000 % 1000
        if rng.random() < 0.05:
            base -= rng.choice([1, 2, -1])
        start, duration = base - rng.choice([1, 10, 3000]), rng.choice([11, 3600, 65535])
        if rng.random() < 0.05:
            start, duration = rng.choice([(base, 60), (base - 9, 9), (base - 9, 8), (base - 9, 10)])
        size = rng.choice([160, 200, 500, 1000, 1400])
        sent = base * SECOND + millis * 1000
        what = outcome(buckets, now, key, bandwidths[key], start, duration, sent, size)
        print(now, *key, bandwidths[key], start, duration, base, millis, size, what)


main()
