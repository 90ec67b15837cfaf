"""Stands for Stratum's module of this name, which writes test vectors: no test does so here."""
