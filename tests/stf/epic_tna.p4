// The EPIC router for Tofino 2, with the packets of epic_sem: levels 0 and 1 as there, levels 2 and 3 are refused.

#include "../../p4/epic/epic_tna.p4"
