"""Network laboratory of the interoperability tests, the demo and the load bench.

Here live: network namespaces and links (`netns`), processes inside them
(`process`), the routers that can be put under test (`router`), and the files
of the reference SCION implementation (`reference`). What a particular test
checks does not live here.

Python standard library only; needs Linux, root and iproute2.
"""
