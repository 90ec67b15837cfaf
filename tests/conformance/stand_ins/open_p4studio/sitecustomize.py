"""What tests for the Python of their time need of a later one: `random.sample` of a set, which Python 3.11 refuses."""

import random

_sample = random.sample


def sample(population, k, **rest):
    return _sample(sorted(population) if isinstance(population, (set, frozenset)) else population, k, **rest)


random.sample = sample
