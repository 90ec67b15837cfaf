// The EPIC router with AES-128: levels 0 to 3 at a segment change, stale packets, wrong authenticators.

#include "../../p4/epic/epic_router.p4"
