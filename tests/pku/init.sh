#!/bin/busybox sh
# SPDX-License-Identifier: MIT
#
# Process 1 of the emulated machine: this machine's files, read-only, below an empty memory file system, then one
# command as root. Everything it prints and its status go to the folder of results, which is this machine's.
set -eu
export PATH=/bin
busybox mount -t proc proc /proc
busybox --install -s /bin
fail() {
	echo "pku: $1"
	poweroff -f
}
trap 'fail "the machine cannot be set up"' EXIT

mount -t devtmpfs dev /dev
while read -r name; do insmod "/modules/$name"; done </modules/order
mkdir -p /below /above /root
mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=loose,ro root /below
mount -t tmpfs -o size=75% tmpfs /above
mkdir /above/new /above/work
mount -t overlay -o lowerdir=/below,upperdir=/above/new,workdir=/above/work overlay /root
mount -t proc proc /root/proc
mount -t sysfs sysfs /root/sys
mount -t devtmpfs dev /root/dev
mkdir -p /root/dev/pts /root/dev/shm /root/run/pku
mount -t devpts devpts /root/dev/pts
mount -t tmpfs -o size=100% tmpfs /root/dev/shm
mount -t tmpfs tmpfs /root/tmp
chmod 1777 /root/tmp /root/dev/shm
ln -sf /proc/self/fd /root/dev/fd
ip link set lo up
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none results /root/run/pku

trap - EXIT
status=0
chroot /root /run/pku/command >/root/run/pku/output 2>&1 </dev/null || status=$?
echo "$status" >/root/run/pku/status
sync
poweroff -f
