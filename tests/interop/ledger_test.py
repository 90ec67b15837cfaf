"""Losses are attributed to who counted them, and the rest to the router."""

import unittest

from lab.ledger import Counters, settle


def spent(**counts) -> Counters:
    return Counters(**{name: counts.get(name, 0) for name in Counters.__dataclass_fields__})


class Settle(unittest.TestCase):
    def test_what_nobody_counts_is_the_routers(self):
        self.assertEqual(settle(5, 1000, spent()).router, 5)

    def test_what_the_router_has_dropped_is_never_excused(self):
        account = settle(5, 1000, spent(router=2, generator=100))
        self.assertEqual((account.router, account.excused["the generator's devices"]), (2, 3))

    def test_devices_and_sockets_excuse_what_they_count(self):
        account = settle(10, 1000, spent(generator=3, output=2, receiver=4))
        self.assertEqual((account.router, sum(account.excused.values())), (1, 9))

    def test_a_full_ring_is_excused_as_far_as_the_router_waited_for_a_cpu(self):
        self.assertEqual(settle(100, 1000, spent(ring=100, waited=0.05)).router, 49)
        self.assertEqual(settle(100, 1000, spent(ring=100, waited=0.2)).router, 0)
        self.assertEqual(settle(100, 1000, spent(ring=100)).router, 100)

    def test_no_more_is_excused_than_is_missing(self):
        account = settle(3, 1000, spent(generator=5, receiver=5))
        self.assertEqual((account.router, sum(account.excused.values())), (0, 3))


if __name__ == "__main__":
    unittest.main()
