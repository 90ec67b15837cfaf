/* A program over the C API of RINA, which waits for everything at once: `api_test server NAME...` returns SDUs on all flows until the end
 * of its standard input, and refuses those of applications named "unwanted". `api_test client NAME COUNT reliable|unreliable` opens 8 flows at
 * once and sends COUNT SDUs on each, from 1 byte to the longest; `api_test refused NAME` expects that its flow is refused. */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rina/api.h>

#define FLOWS 8
#define MOST 64
#define PATIENCE_MS 60000

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void expect(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "expected: %s\n", what);
        exit(1);
    }
}

static int is_readable(int fd) {
    struct pollfd it = {.fd = fd, .events = POLLIN};
    return poll(&it, 1, PATIENCE_MS) == 1;
}

static int server(int count, char **names) {
    struct pollfd fds[MOST] = {{.fd = STDIN_FILENO, .events = POLLIN}};
    int used = 2;
    int fd = rina_open();
    if (fd < 0) {
        fail("rina_open");
    }
    fds[1] = (struct pollfd){.fd = fd, .events = POLLIN};
    for (int name = 0; name < count; name++) {
        int waiting = rina_register(fd, NULL, names[name], RINA_F_NOWAIT);
        if (waiting < 0 || !is_readable(waiting) || rina_register_wait(fd, waiting)) {
            fail("rina_register");
        }
    }
    expect(rina_register(fd, NULL, names[0], 0) == -1 && errno == EBUSY, "a name that is registered is busy");
    expect(rina_register(fd, "nowhere", "x", 0) == -1 && errno == EBUSY, "no name in a DIF that is not here");
    expect(rina_unregister(fd, NULL, "x", 0) == -1, "no name that was not registered");
    printf("ready\n");
    fflush(stdout);
    char *buffer = malloc(1 << 16);
    while (poll(fds, used, -1) > 0) {
        if (fds[0].revents) {
            break;
        }
        for (int at = 2; at < used; at++) {
            if (fds[at].revents) {
                ssize_t length = read(fds[at].fd, buffer, 1 << 16);
                if (length <= 0 || write(fds[at].fd, buffer, length) != length) {
                    close(fds[at].fd);
                    fds[at--] = fds[--used];
                }
            }
        }
        if (fds[1].revents & POLLIN && used < MOST) {
            struct rina_flow_spec spec;
            char *remote = NULL;
            int handle = rina_flow_accept(fd, &remote, &spec, RINA_F_NORESP);
            if (handle < 0) {
                fail("rina_flow_accept");
            }
            int refused = !strcmp(remote, "unwanted");
            int flow = rina_flow_respond(fd, handle, refused);
            if (flow < 0) {
                fail("rina_flow_respond");
            }
            expect(rina_flow_respond(fd, handle, 0) == -1 && errno == EINVAL, "a request is answered once");
            printf("%s: %s, gap %s\n", remote, refused ? "refused" : "accepted", spec.max_sdu_gap ? "any" : "none");
            fflush(stdout);
            free(remote);
            if (!refused) {
                fds[used++] = (struct pollfd){.fd = flow, .events = POLLIN};
            }
        } else if (fds[1].revents) {
            break;
        }
    }
    for (int name = 0; name < count; name++) {
        if (rina_unregister(fd, NULL, names[name], 0)) {
            fail("rina_unregister");
        }
    }
    return 0;
}

static int client(const char *name, int count, int reliable) {
    struct rina_flow_spec spec;
    struct pollfd fds[FLOWS];
    int sent[FLOWS] = {0}, received[FLOWS] = {0}, done = 0;
    rina_flow_spec_unreliable(&spec);
    spec.max_sdu_gap = reliable ? 0 : UINT64_MAX;
    for (int flow = 0; flow < FLOWS; flow++) {
        fds[flow].fd = rina_flow_alloc(NULL, "client|1", name, &spec, RINA_F_NOWAIT);
        fds[flow].events = POLLIN;
        if (fds[flow].fd < 0) {
            fail("rina_flow_alloc");
        }
    }
    unsigned longest = 0;
    for (int flow = 0; flow < FLOWS; flow++) {
        expect(is_readable(fds[flow].fd), "an answer");
        fds[flow].fd = rina_flow_alloc_wait(fds[flow].fd);
        if (fds[flow].fd < 0) {
            fail("rina_flow_alloc_wait");
        }
        longest = rina_flow_mss_get(fds[flow].fd);
        expect(longest >= 1400, "an SDU of 1400 bytes");
    }
    unsigned char *buffer = malloc(longest + 1), *sdu = malloc(longest);
    for (unsigned byte = 0; byte < longest; byte++) {
        sdu[byte] = byte * 7;
    }
    while (done < FLOWS) {
        for (int flow = 0; flow < FLOWS; flow++) {
            if (sent[flow] < count && sent[flow] == received[flow]) {
                unsigned length = 1 + (sent[flow]++ * 4099u) % longest;
                if (write(fds[flow].fd, sdu, length) != (ssize_t)length) {
                    fail("write");
                }
            }
        }
        expect(poll(fds, FLOWS, PATIENCE_MS) > 0, "an SDU");
        for (int flow = 0; flow < FLOWS; flow++) {
            if (fds[flow].revents) {
                unsigned length = 1 + (received[flow] * 4099u) % longest;
                ssize_t got = read(fds[flow].fd, buffer, longest + 1);
                expect(got == (ssize_t)length && !memcmp(buffer, sdu, length), "the SDU that was sent");
                if (++received[flow] == count) {
                    close(fds[flow].fd);
                    fds[flow].fd = -1;
                    done++;
                }
            }
        }
    }
    printf("%d flows, %d SDUs\n", FLOWS, FLOWS * count);
    return 0;
}

static int refused(const char *name) {
    struct rina_flow_spec spec;
    expect(rina_flow_alloc(NULL, "unwanted", name, NULL, 0) == -1 && errno == EPERM, "a flow that is refused");
    expect(rina_flow_alloc(NULL, "client", "nobody", NULL, 0) == -1 && errno == EPERM, "no flow to nobody");
    expect(rina_flow_alloc(NULL, NULL, name, NULL, 0) == -1 && errno == EINVAL, "no flow without a name");
    expect(rina_flow_alloc(NULL, "a b", name, NULL, 0) == -1 && errno == EINVAL, "no flow from what is no name");
    expect(rina_flow_alloc(NULL, "client", name, NULL, 64) == -1 && errno == EINVAL, "no unknown flags");
    rina_flow_spec_unreliable(&spec);
    spec.version = 1;
    expect(rina_flow_alloc(NULL, "client", name, &spec, 0) == -1 && errno == EINVAL, "no other version of the specification");
    expect(rina_register(0, NULL, "x", 0) == -1 && errno == EBADF, "no name for what is no listener");
    expect(rina_flow_mss_get(0) == 0 && errno == EBADF, "no SDU by what is no flow");
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "server")) {
        return server(argc - 2, argv + 2);
    }
    if (argc == 5 && !strcmp(argv[1], "client")) {
        return client(argv[2], atoi(argv[3]), !strcmp(argv[4], "reliable"));
    }
    if (argc == 3 && !strcmp(argv[1], "refused")) {
        return refused(argv[2]);
    }
    fprintf(stderr, "expected: server NAME..., client NAME COUNT reliable|unreliable, or refused NAME\n");
    return 2;
}
