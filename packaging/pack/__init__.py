"""Packages of Hopwright from the folder that `make dist` fills. The same input gives the same bytes."""
