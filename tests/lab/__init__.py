"""What tests, benches and demonstrations have in common. Each of their folders has a link `lab` that leads here, so that `from lab.… import …`
works in all of their programs. What a particular test checks does not live here.

Python standard library only; most of it needs Linux, root and iproute2.
"""
