#!/bin/sh
# An address that goes with leadership: the hooks of group.yaml. ADDRESS (10.0.0.100/24) and DEVICE (eth0) say which.
#
#   address.sh up | renew | down
set -eu

# For how many seconds the kernel may keep the address by itself: until this machine's right to lead ends, less one second,
# because the kernel may take addresses away up to a second late (and 10 ms, the grain of /proc/uptime). It is computed here
# and not by whoever started this script, because a moment or a freeze may lie in between.
lifetime() {
  read -r uptime _ </proc/uptime
  echo $(((TENURE_VALID_UNTIL_MS - ${uptime%.*}${uptime#*.}0 - 1010) / 1000))
}

# It adds the address if it is not there.
set_address() {
  seconds=$(lifetime)
  if [ "$seconds" -lt 1 ]; then
    echo "address.sh: no second is left of this term, or the lease is shorter than 5s" >&2
    exit 1
  fi
  ip address change "$ADDRESS" dev "$DEVICE" valid_lft "$seconds" preferred_lft "$seconds"
}

# Neighbours remember the former owner's hardware address for minutes unless they are informed. Five times within a second, because
# a switch may lose the first; each arping takes a second, and waits for the last one.
announce() {
  if ! command -v arping >/dev/null; then
    echo "address.sh: arping is not installed, so neighbours find $ADDRESS late" >&2
    return
  fi
  for _ in 1 2 3 4 5; do
    arping -U -q -c 1 -I "$DEVICE" "${ADDRESS%/*}" &
    sleep 0.2
  done
  wait
}

case "${1:-}" in
  up)
    set_address
    announce
    ;;
  renew) set_address ;;
  down)  # that it is gone counts, not who took it away
    ip address delete "$ADDRESS" dev "$DEVICE" 2>/dev/null || true
    [ -z "$(ip -o address show dev "$DEVICE" to "${ADDRESS%/*}")" ]
    ;;
  *) echo "usage: address.sh up|renew|down" >&2; exit 2 ;;
esac
