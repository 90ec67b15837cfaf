// The RINA interior router of p4/rina: queues by QoS id and DSCP, congestion marks.

#include "../../p4/rina/interior.p4"
