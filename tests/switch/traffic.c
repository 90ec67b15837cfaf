/* Traffic for isolation.py: sends frames at exact rates, and counts and times those that come back.
 *
 * usage: traffic SECONDS CPU <flows >results
 *
 * Flows, one a line:
 *     probe NAME DEVICE RECEIVER RATE SIZE HEADER     frames of SIZE bytes that begin with HEADER and end with a record; counted and
 *                                                     timed where RECEIVER gets them
 *     load NAME DEVICE RATE VARIES FRAME              other frames; from the byte VARIES on, four bytes are a serial number (-1: none)
 *     joined NAME DEVICE RATE PAYLOAD FRAME           UDP datagrams of PAYLOAD bytes over IPv4 in one frame, for the device to segment
 *
 * RATE is in frames a second. HEADER and FRAME are hexadecimal. The result is JSON; "later" are frames received of those that were sent
 * after the first second.
 *
 * One thread sends and receives, so that senders do not wait for each other. Probes come first: loads get the time that is left. A probe
 * has the time when it is sent, and the kernel notes when a frame arrives, so that latency has neither the wait before sending nor the
 * wait for this program to look. The rings of receivers hold 65,536 frames each; what they lose is reported.
 *
 * Virtual machines do not run all the time. A second thread, on the CPU given, which is the switch's, sleeps for a quarter of a
 * millisecond at a time with the highest priority. When it wakes a millisecond too late, the CPU has stood still, and so has the
 * generator's if it finds a gap of a millisecond between two looks. Frames that were under way then, or soon after, count, but are left out
 * of the percentiles. How much time each CPU has lost is reported. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Since Linux 6.2. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define MAGIC 0x486f7077u
#define FLOWS 64
#define LONGEST 9216
#define OFFLOADS sizeof(struct virtio_net_hdr)
#define SLOTS 65536
#define SLOT 256
#define BURST 8
#define NS 1000000000ull
/* How long the generator sleeps at most when nothing is due, and how long frames may be under way at the end. */
#define NAP 50000
#define LINGER (NS / 2)
/* A flow that is late by more does not catch up. */
#define PATIENCE (NS / 1000)
/* A CPU that stands still: between two looks, the shortest time, and this many times as long the queues need to be as before. */
#define LOOK (NS / 4000)
#define STANDSTILL (NS / 1000)
#define RECOVERY 3
#define STANDSTILLS 100000

struct record {
    uint32_t magic, flow;
    uint64_t number, sent;
} __attribute__((packed));

struct flow {
    char name[32];
    int probe, socket, size, varies;
    double rate;
    unsigned char frame[LONGEST];
    uint64_t sent, refused, skipped, due, twice;
    /* Of a probe: by number, when it was sent, and its latency, zero while it is under way. */
    uint64_t room, *sent_at;
    uint32_t *latency;
};

/* From when to when a CPU stood still. */
struct standstills {
    uint64_t count, total;
    struct {
        uint64_t from, to;
    } each[STANDSTILLS];
};

struct receiver {
    char device[32];
    int socket;
    unsigned char *ring;
    unsigned next;
};

static struct flow flows[FLOWS];
static struct receiver receivers[FLOWS];
static int flow_count, receiver_count, stop;
static struct standstills load_cpu, switch_cpu;

static void fail(const char *what)
{
    fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * NS + time.tv_nsec;
}

static int open_socket(const char *device, int protocol, int offloads)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = if_nametoindex(device)};
    int s = socket(AF_PACKET, SOCK_RAW, 0), one = 1, size = 64 << 20;
    if (s < 0 || address.sll_ifindex == 0)
        fail(device);
    if (protocol == 0) {
        setsockopt(s, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
        setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
        if (offloads && setsockopt(s, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one))
            fail("offloads");
    } else {
        /* The last bytes of the frame are a record: its magic number is looked at. */
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
            BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, sizeof(struct record)),
            BPF_STMT(BPF_MISC | BPF_TAX, 0),
            BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAGIC, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, 0xffff),
            BPF_STMT(BPF_RET | BPF_K, 0),
        };
        struct sock_fprog program = {sizeof code / sizeof *code, code};
        struct tpacket_req ring = {
            .tp_block_size = 1 << 16, .tp_block_nr = SLOTS / ((1 << 16) / SLOT), .tp_frame_size = SLOT, .tp_frame_nr = SLOTS};
        int version = TPACKET_V2;
        if (setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ||
            setsockopt(s, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) ||
            setsockopt(s, SOL_PACKET, PACKET_VERSION, &version, sizeof version) ||
            setsockopt(s, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring))
            fail("receive ring");
    }
    if (bind(s, (struct sockaddr *)&address, sizeof address))
        fail("bind");
    return s;
}

static void receive_from(const char *device)
{
    for (int i = 0; i < receiver_count; i++)
        if (!strcmp(receivers[i].device, device))
            return;
    struct receiver *r = &receivers[receiver_count++];
    snprintf(r->device, sizeof r->device, "%s", device);
    r->socket = open_socket(device, ETH_P_ALL, 0);
    r->ring = mmap(NULL, (size_t)SLOTS * SLOT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->socket, 0);
    if (r->ring == MAP_FAILED)
        fail("map");
}

static int unhex(const char *text, unsigned char *bytes)
{
    int size = 0;
    unsigned byte;
    while (size < LONGEST && sscanf(text + 2 * size, "%2x", &byte) == 1)
        bytes[size++] = byte;
    return size;
}

static void read_flows(double seconds)
{
    static char line[4 * LONGEST], kind[16], device[32], receiver[32], hex[3 * LONGEST];
    while (fgets(line, sizeof line, stdin)) {
        struct flow *f = &flows[flow_count];
        if (flow_count == FLOWS || sscanf(line, "%15s %31s", kind, f->name) != 2)
            fail("too many flows, or no flow");
        f->probe = !strcmp(kind, "probe");
        int joined = !strcmp(kind, "joined");
        int found = f->probe ? sscanf(line, "%*s %*s %31s %31s %lf %d %s", device, receiver, &f->rate, &f->size, hex)
                             : sscanf(line, "%*s %*s %31s %lf %d %s", device, &f->rate, &f->varies, hex);
        if (found != (f->probe ? 5 : 4))
            fail(line);
        int length = unhex(hex, f->frame + (joined ? OFFLOADS : 0));
        if (!f->probe)
            f->size = length;
        if (joined) {
            struct virtio_net_hdr offloads = {
                .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_UDP_L4, .hdr_len = 42, .gso_size = f->varies,
                .csum_start = 34, .csum_offset = 6};
            memcpy(f->frame, &offloads, sizeof offloads);
            f->size += OFFLOADS;
            f->varies = -1;
        }
        f->socket = open_socket(device, 0, joined);
        if (f->probe) {
            receive_from(receiver);
            f->room = (uint64_t)(f->rate * seconds) + 64;
            f->sent_at = calloc(f->room, sizeof *f->sent_at);
            f->latency = calloc(f->room, sizeof *f->latency);
        }
        flow_count++;
    }
}

static void arrived(struct record *record, uint64_t at)
{
    if (ntohl(record->magic) != MAGIC || record->flow >= (uint32_t)flow_count || record->number >= flows[record->flow].room)
        return;
    struct flow *f = &flows[record->flow];
    if (f->latency[record->number])
        f->twice++;
    uint64_t ns = at > record->sent ? at - record->sent : 1;
    f->latency[record->number] = ns < UINT32_MAX ? ns : UINT32_MAX;
}

static int receive(void)
{
    int count = 0;
    for (int i = 0; i < receiver_count; i++) {
        struct receiver *r = &receivers[i];
        for (int n = 0; n < 256; n++) {
            struct tpacket2_hdr *slot = (void *)(r->ring + (size_t)(r->next % SLOTS) * SLOT);
            if (!(__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
                break;
            /* Of a frame that is longer than a slot the end is missing: frames are short enough. */
            if (slot->tp_snaplen == slot->tp_len && slot->tp_len >= sizeof(struct record)) {
                struct record record;
                memcpy(&record, (unsigned char *)slot + slot->tp_mac + slot->tp_len - sizeof record, sizeof record);
                arrived(&record, slot->tp_sec * NS + slot->tp_nsec);
            }
            __atomic_store_n(&slot->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
            r->next++;
            count++;
        }
    }
    return count;
}

static void send_one(int number)
{
    struct flow *f = &flows[number];
    if (f->probe && f->sent < f->room) {
        struct record record = {htonl(MAGIC), number, f->sent, clock_ns(CLOCK_REALTIME)};
        memcpy(f->frame + f->size - sizeof record, &record, sizeof record);
        f->sent_at[f->sent] = record.sent;
    } else if (!f->probe && f->varies >= 0) {
        uint32_t serial = htonl(f->sent);
        memcpy(f->frame + f->varies, &serial, 4);
    }
    /* What a device does not take was not sent. */
    if (send(f->socket, f->frame, f->size, 0) == f->size)
        f->sent++;
    else
        f->refused++;
}

/* Sends what a flow has to send by now, a burst at most. */
static int catch_up(int number, uint64_t elapsed)
{
    struct flow *f = &flows[number];
    uint64_t due = (uint64_t)(f->rate * elapsed / NS), patience = (uint64_t)(f->rate * PATIENCE / NS) + BURST;
    if (due - f->due > patience) {
        f->skipped += due - f->due - patience;
        f->due = due - patience;
    }
    int count = 0;
    for (; f->due < due && count < BURST; f->due++, count++)
        send_one(number);
    return count;
}

static void stood_still(struct standstills *s, uint64_t ns)
{
    if (ns < STANDSTILL || s->count == STANDSTILLS)
        return;
    uint64_t now = clock_ns(CLOCK_REALTIME);
    s->each[s->count].from = now - ns;
    s->each[s->count].to = now;
    s->total += ns;
    s->count++;
}

static void *watch(void *cpu)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(*(int *)cpu, &cpus);
    struct sched_param highest = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    if (sched_setaffinity(0, sizeof cpus, &cpus) || sched_setscheduler(0, SCHED_FIFO, &highest))
        fail("watch a CPU");
    prctl(PR_SET_TIMERSLACK, 1000);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        uint64_t before = clock_ns(CLOCK_MONOTONIC);
        struct timespec look = {0, LOOK};
        nanosleep(&look, NULL);
        stood_still(&switch_cpu, clock_ns(CLOCK_MONOTONIC) - before - LOOK);
    }
    return NULL;
}

/* Whether a frame sent then may have waited for a CPU that stood still. */
static int waited(struct standstills *s, uint64_t *next, uint64_t sent, uint64_t arrived)
{
    while (*next < s->count) {
        uint64_t from = s->each[*next].from, to = s->each[*next].to;
        if (sent <= to + RECOVERY * (to - from))
            return arrived >= from;
        ++*next;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void report(struct flow *f)
{
    uint64_t received = 0, later = 0, timed = 0, next_load = 0, next_switch = 0;
    for (uint64_t i = 0; i < f->sent && i < f->room; i++) {
        uint32_t latency = f->latency[i];
        uint64_t at = f->sent_at[i] + latency;
        received += latency > 0;
        later += latency > 0 && f->sent_at[i] >= f->sent_at[0] + NS;
        int left_out = waited(&load_cpu, &next_load, f->sent_at[i], at) | waited(&switch_cpu, &next_switch, f->sent_at[i], at);
        if (latency > 0 && !left_out)
            f->latency[timed++] = latency;
    }
    qsort(f->latency, timed, sizeof *f->latency, compare);
    printf(", \"received\": %lu, \"later\": %lu, \"twice\": %lu, \"timed\": %lu", received, later, f->twice, timed);
    const struct {
        const char *name;
        double part;
    } percentiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}};
    for (int i = 0; i < 3; i++)
        printf(", \"%s\": %.2f", percentiles[i].name, timed ? f->latency[(uint64_t)(timed * percentiles[i].part)] / 1000.0 : 0);
    printf(", \"longest\": %.2f", timed ? f->latency[timed - 1] / 1000.0 : 0);
}

int main(int argc, char **argv)
{
    double seconds = argc == 3 ? atof(argv[1]) : 0;
    if (seconds <= 0) {
        fprintf(stderr, "usage: traffic SECONDS CPU <flows\n");
        return 2;
    }
    int cpu = atoi(argv[2]);
    pthread_t watcher;
    prctl(PR_SET_TIMERSLACK, 1000);
    read_flows(seconds);
    if (pthread_create(&watcher, NULL, watch, &cpu))
        fail("start a thread");
    uint64_t start = clock_ns(CLOCK_MONOTONIC), end = (uint64_t)(seconds * NS), elapsed, before = 0;
    while ((elapsed = clock_ns(CLOCK_MONOTONIC) - start) < end) {
        int busy = 0;
        for (int i = 0; i < flow_count; i++)
            if (flows[i].probe)
                busy += catch_up(i, elapsed);
        busy += receive();
        for (int i = 0; i < flow_count; i++)
            if (!flows[i].probe)
                busy += catch_up(i, elapsed);
        if (!busy) {
            struct timespec nap = {0, NAP};
            nanosleep(&nap, NULL);
        }
        stood_still(&load_cpu, elapsed - before);
        before = elapsed;
    }
    for (elapsed = clock_ns(CLOCK_MONOTONIC); clock_ns(CLOCK_MONOTONIC) - elapsed < LINGER;) {
        struct timespec nap = {0, NAP};
        if (!receive())
            nanosleep(&nap, NULL);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(watcher, NULL);
    uint64_t lost = 0;
    for (int i = 0; i < receiver_count; i++) {
        struct tpacket_stats stats;
        socklen_t size = sizeof stats;
        getsockopt(receivers[i].socket, SOL_PACKET, PACKET_STATISTICS, &stats, &size);
        lost += stats.tp_drops;
    }
    printf("{\"receivers_lost\": %lu, \"load_cpu_lost\": %.4f, \"switch_cpu_lost\": %.4f, \"flows\": {", lost,
           load_cpu.total / 1e9, switch_cpu.total / 1e9);
    for (int i = 0; i < flow_count; i++) {
        struct flow *f = &flows[i];
        printf("%s\"%s\": {\"sent\": %lu, \"refused\": %lu, \"skipped\": %lu", i ? ", " : "", f->name, f->sent, f->refused, f->skipped);
        if (f->probe)
            report(f);
        printf("}");
    }
    printf("}}\n");
    return 0;
}
