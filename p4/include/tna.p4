// The Tofino Native Architecture (tofino.p4 has its declarations).

#ifndef _TNA_P4_
#define _TNA_P4_

#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 1
#endif

#define PORT_ID_WIDTH            9
#define MULTICAST_GROUP_ID_WIDTH 16
#define RESUBMIT_TYPE_WIDTH      3
#define DIGEST_TYPE_WIDTH        3
#define REPLICATION_ID_WIDTH     16
#define L1_EXCLUSION_ID_WIDTH    16
#define L2_EXCLUSION_ID_WIDTH    9

#if __TARGET_TOFINO__ == 1
#define QUEUE_ID_WIDTH            5
#define MIRROR_TYPE_WIDTH         3
#define MIRROR_ID_WIDTH           10
#define PARSER_COUNTER_MASK_WIDTH 3
#define TOFINO_ARCHITECTURE       "tna"
const bit<32> PORT_METADATA_SIZE = 64;
#else
// Programs for both include this file for Tofino 2, too.
#define QUEUE_ID_WIDTH            7
#define MIRROR_TYPE_WIDTH         4
#define MIRROR_ID_WIDTH           8
#define PARSER_COUNTER_MASK_WIDTH 8
#define TOFINO_ARCHITECTURE       "t2na"
#define _TOFINO2_FIELDS_
const bit<32> PORT_METADATA_SIZE = 192;
#endif

// Where a port is: its pipe, and its number there.
#define DEVPORT_PIPE_MASK  0x180
#define DEVPORT_PIPE(port) (port)[8:7]
#define DEVPORT_PORT_MASK  0x7f
#define DEVPORT_PORT(port) (port)[6:0]

#include <tofino.p4>

#endif
