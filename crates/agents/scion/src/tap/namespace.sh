
# Addresses, Ethernet addresses, MTUs and routes are those of the devices here, which stay as they are.
devices() {
    for address in $own; do
        ip -o address show to "$address" | awk '{ print $2 }'
    done
    for address in $remote; do
        ip -o route get "$address" | sed -n 's/.* dev \([^ ]*\).*/\1/p'
    done
}

if ip netns list | grep -qw "$netns"; then
    ip netns delete "$netns"
fi
ip netns add "$netns"
ip -n "$netns" link set dev lo up
for device in $(devices | sort -u); do
    if [ "$device" != lo ]; then
        link=$(ip -o link show dev "$device")
        mac=$(printf '%s' "$link" | sed -n 's/.* link\/ether \([0-9a-f:]*\).*/\1/p')
        mtu=$(printf '%s' "$link" | sed -n 's/.* mtu \([0-9]*\).*/\1/p')
        ip -n "$netns" tuntap add dev "$device" mode tap
        # Without link-local addresses the kernel there keeps quiet.
        ip -n "$netns" link set dev "$device" address "$mac" mtu "$mtu" addrgenmode none
        ip -n "$netns" link set dev "$device" up
    fi
    ip -o address show dev "$device" scope global | while read -r _ _ family address _; do
        case $family in
        inet) ip -n "$netns" address add "$address" dev "$device" ;;
        inet6) ip -n "$netns" address add "$address" dev "$device" nodad ;;
        esac
    done
done
for device in $(devices | sort -u); do
    for version in -4 -6; do
        ip $version route show dev "$device" | grep ' via ' | while read -r route; do
            # shellcheck disable=SC2086
            ip -n "$netns" $version route replace $route dev "$device"
        done
    done
done
