// The EPIC router with the cipher SEM: levels 0 to 3 at a segment change, stale packets, wrong authenticators.

#define EPIC_SEM
#include "../../p4/epic/epic_router.p4"
