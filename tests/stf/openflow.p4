// The data path of an OpenFlow switch, p4/router/openflow.p4: priorities of flows, lists of outputs, further tables, VLAN tags,
// rewritten fields with their checksums, what goes to and comes from controllers.

#include "../../p4/router/openflow.p4"
