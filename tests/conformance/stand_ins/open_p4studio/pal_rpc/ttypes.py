"""Stands for the SDE's module of this name: no test here uses its types."""
