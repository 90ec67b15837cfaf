// The RINA interior router for Tofino: what it forwards, punts and drops.

#include "../../p4/rina/interior_tna.p4"
