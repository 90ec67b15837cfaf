/* The API of RINA for C programs, as rlite and IRATI have it: https://github.com/rlite/rlite, include/rina/api.h.
 * Functions return -1 and set errno when they fail. Names are strings whose components `|` separates. */

#ifndef __RINA_API_H__
#define __RINA_API_H__

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a flow is to guarantee. Bandwidth, delay, jitter and loss are not guaranteed by any flow, and not looked at. */
struct rina_flow_spec {
    uint32_t version;
#define RINA_FLOW_SPEC_VERSION 2
    uint32_t max_delay;         /* microseconds */
    uint64_t max_sdu_gap;       /* SDUs that may be missing in a row: UINT64_MAX for any number, fewer for a reliable flow */
    uint64_t avg_bandwidth;     /* bits per second */
#define RINA_FLOW_SPEC_LOSS_MAX 10000
    uint16_t max_loss;          /* 0 to RINA_FLOW_SPEC_LOSS_MAX */
    uint8_t in_order_delivery;  /* 1 for a reliable flow */
    uint8_t msg_boundaries;     /* boundaries are kept always: read as much as rina_flow_mss_get tells */
    uint32_t max_jitter;        /* microseconds */
};

#define RINA_F_NOWAIT (1 << 0)  /* return a descriptor that is readable when the operation has ended */
#define RINA_F_NORESP (1 << 1)  /* do not accept yet */

/* A descriptor that is readable when somebody asks for a flow to a name that is registered with it. Names are found until it is closed. */
int rina_open(void);

/* Registers a name, in a DIF or (NULL) in all. */
int rina_register(int fd, const char *dif_name, const char *local_appl, int flags);
int rina_unregister(int fd, const char *dif_name, const char *local_appl, int flags);
/* Waits for what RINA_F_NOWAIT has begun, and closes wfd. */
int rina_register_wait(int fd, int wfd);

/* Takes the next request: returns a flow, or with RINA_F_NORESP what rina_flow_respond takes. The caller frees *remote_appl. */
int rina_flow_accept(int fd, char **remote_appl, struct rina_flow_spec *spec, unsigned int flags);
/* Accepts (0) and returns the flow, or refuses and returns 0. */
int rina_flow_respond(int fd, int handle, int response);

/* Asks for a flow, which is a descriptor for read, write and poll: an SDU each. dif_name NULL: the first DIF that knows the application. */
int rina_flow_alloc(const char *dif_name, const char *local_appl, const char *remote_appl, const struct rina_flow_spec *flowspec,
                    unsigned int flags);
/* Waits for what RINA_F_NOWAIT has begun; wfd is the flow then, or closed. */
int rina_flow_alloc_wait(int wfd);

/* The specification of a flow that retransmits nothing. */
void rina_flow_spec_unreliable(struct rina_flow_spec *spec);
#define rina_flow_spec_default rina_flow_spec_unreliable

/* The longest SDU that can be written to a flow, in bytes. */
unsigned int rina_flow_mss_get(int fd);

#ifdef __cplusplus
}
#endif

#endif
