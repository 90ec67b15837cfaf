// An IPv4 router in XDP: looks up the kernel's routes and neighbours, rewrites the packet and sends it by another device.
// What it cannot do goes to the kernel. A peer for measurements; see forwarding.py.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#define SEC(name) __attribute__((section(name), used))
#define AF_INET 2

static long (*bpf_fib_lookup)(void *ctx, struct bpf_fib_lookup *params, int size, __u32 flags) = (void *)69;
static long (*bpf_redirect)(__u32 ifindex, __u64 flags) = (void *)23;

SEC("xdp")
int forward(struct xdp_md *ctx)
{
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    struct ethhdr *eth = data;
    struct iphdr *ip = data + sizeof(*eth);
    struct bpf_fib_lookup fib = {};

    if ((void *)(ip + 1) > end || eth->h_proto != __builtin_bswap16(ETH_P_IP) || ip->ihl != 5 || ip->ttl <= 1)
        return XDP_PASS;
    fib.family = AF_INET;
    fib.tos = ip->tos;
    fib.l4_protocol = ip->protocol;
    fib.tot_len = __builtin_bswap16(ip->tot_len);
    fib.ipv4_src = ip->saddr;
    fib.ipv4_dst = ip->daddr;
    fib.ifindex = ctx->ingress_ifindex;
    if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
        return XDP_PASS;
    // RFC 1624: the sum of what changes is 1 in the high byte.
    __u32 sum = ip->check + __builtin_bswap16(0x0100);
    ip->check = (__u16)(sum + (sum >= 0xffff));
    ip->ttl--;
    __builtin_memcpy(eth->h_dest, fib.dmac, ETH_ALEN);
    __builtin_memcpy(eth->h_source, fib.smac, ETH_ALEN);
    return bpf_redirect(fib.ifindex, 0);
}

// For a device that only sends: with a program, frames can be redirected to it.
SEC("xdp.pass")
int pass(struct xdp_md *ctx)
{
    return XDP_PASS;
}

// For the generator's own cost.
SEC("xdp.drop")
int drop(struct xdp_md *ctx)
{
    return XDP_DROP;
}

char program_license[] SEC("license") = "Dual BSD/GPL";
