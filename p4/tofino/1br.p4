// Layout 1br: a border router in every pipe. An AES core beside the pipeline computes the MACs.

#define AES_PIPES 0
#include "border_router.p4"

Switch(border_router) main;
