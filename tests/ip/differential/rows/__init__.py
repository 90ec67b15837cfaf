"""The scenarios: a row each. Both routers begin with four ports: `s1` to `s4` with 10.0.N.1/24 and 2001:db8:N::1/64, hosts 2 and 3
on each link, and routes to 172.16.N.0/24 and 2001:db8:f00N::/64 by host 2.

What only one kernel in some has (VLANs, VRFs, bonds) is skipped, loudly, where the kernel says so.
"""

from . import forwarding, links, policy, routes  # noqa: F401
