# The cables, in this network namespace: hN - sNp1, and between switches sNp3 =bridge= sMp2. Those are cut in their middle
# (mNa and mNb off): BMv2 hears nothing any more, on any port, while an interface of its own is off.
set -e
pair() {
  ip link add "$1" type veth peer name "$2"
  for end in "$1" "$2"; do
    ip link set "$end" mtu 9000 up
  done
}
ip link set lo up
for n in 1 2 3 4; do
  next=$((n % 4 + 1))
  pair "h$n" "s${n}p1"
  pair "s${n}p3" "m${n}a"
  pair "s${next}p2" "m${n}b"
  ip link add "br$n" type bridge
  for end in "m${n}a" "m${n}b"; do
    ip link set "$end" master "br$n"
  done
  ip link set "br$n" mtu 9000 up
done
ip link add ready type dummy 2>/dev/null || ip link add ready type bridge
exec sleep infinity
