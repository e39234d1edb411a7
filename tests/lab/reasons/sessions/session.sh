# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the sessions of this folder have in common: programs on the nodes of the lab, and what an operator looks at.
#
# A session runs in the lab as `mptcplab exec --scenario NETWORK.toml --out FOLDER -- sh NAME.sh` does, where NETWORK is
# NAME if there is such a file, else network. It writes client.txt and server.txt: what their hosts print, as a
# terminal shows it, which `mptcplab explain` reads.
set -eu
here=$PWD
cd /run/out

# Run a command on a node.
on() {
    node=$1
    shift
    ip netns exec "$node" "$@"
}

# Run talk.py on a node.
talk() {
    node=$1
    shift
    on "$node" "${PYTHON:-python3}" "$here/talk.py" "$@"
}

# Run a program on a node, and append to NODE.txt its calls about sockets: trace NODE PROGRAM...
trace() {
    node=$1
    shift
    on "$node" strace -f -q -e trace=socket,setsockopt "$@" 2>>"$node.txt"
}

# Act on packets that a router forwards: filter NODE RULE.
filter() {
    on "$1" nft "add table inet box
        add chain inet box forwarded { type filter hook forward priority mangle; }
        add rule inet box forwarded $2"
}

# Print the address of a node's interface: address_of NODE DEVICE.
address_of() {
    on "$1" ip -o address show dev "$2" scope global | awk '{ sub("/.*", "", $4); print $4; exit }'
}

# Append to NODE.txt what commands print there, with the time, also if they fail: look_at NODE COMMAND...
look_at() {
    # shellcheck disable=SC2016
    on "$1" sh -c 'read -r now _ </proc/uptime
        for command; do
            echo "### ${now%.*} s: $command"
            $command || true
        done' "$@" >>"$1.txt" 2>&1
}

look_at_sockets() {
    for node in client server; do
        look_at "$node" 'ss -Miean' 'ss -tiean'
    done
}

look_at_all() {
    for node in client server; do
        # shellcheck disable=SC2016
        on "$node" sh -c 'for command; do
                echo "\$ $command"
                $command
            done' look 'ip mptcp endpoint' 'ip mptcp limits' 'sysctl net.mptcp' 'ip addr' 'nstat -asz' >>"$node.txt"
    done
    look_at_sockets
}

# Let the client send to the server for two seconds, and look at both.
transfer() {
    talk server serve 5001 &
    talk client send "$(address_of server link1)" 5001 &
    sleep 2
    look_at_all
}
