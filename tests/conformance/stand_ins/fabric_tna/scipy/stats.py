"""Stands for a package that only plots and statistics of traffic generators use: no test here does."""
