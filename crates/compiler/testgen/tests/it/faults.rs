//! Faults in programs that the tests of the right programs find.
