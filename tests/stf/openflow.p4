// The data path of an OpenFlow switch, p4/router/openflow.p4: priorities of flows, lists of outputs, further tables, VLAN, MPLS and
// PBB tags, rewritten fields with their checksums, meters, the bridge, what goes to and comes from controllers.

#include "../../p4/router/openflow.p4"
