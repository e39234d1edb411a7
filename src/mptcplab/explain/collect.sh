#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Collect what this machine knows about Multipath TCP, for `mptcplab explain`.
#
# It only reads: no setting, route or counter changes. It needs a POSIX shell (dash, bash, busybox ash) and uses what is
# there of ip, ss, nstat, tc and tcpdump. What cannot be read, for lack of a program or of rights, is named in index.txt.

set -u
umask 077

usage() {
    cat <<'TEXT'
Usage: sh collect.sh [-t SECONDS] [-i SECONDS] [-o NAME] [-a] [-p]

Collects what this machine knows about Multipath TCP into NAME.tar.gz. It changes nothing.

  -t SECONDS  How long to observe (default 10). Let the connection in question open within this time.
  -i SECONDS  Time between two looks at the sockets (default 2).
  -o NAME     Name of the folder and archive (default mptcp-HOST-DATE, or mptcp-DATE with -a).
  -a          Hide addresses: rename IP and MAC addresses and the host's name, the same everywhere.
              Addresses of one network stay in one network, private ones stay private.
  -p          Capture packets, too: headers only, at most 20000 packets. Needs root; not with -a.
  -n COUNT    Capture at most COUNT packets: a fast line needs more, see docs/fit.md. Each takes 144 bytes.
  -h          Show this help.
TEXT
}

fail() {
    echo "collect.sh: $1" >&2
    echo "  hint: $2" >&2
    exit 2
}

is_number() {
    case $1 in
    '' | *[!0-9]* | 0*) return 1 ;;
    esac
    [ "${#1}" -le 6 ]
}

seconds=10 interval=2 name='' hide=no packets=no count=20000
while getopts 't:i:o:n:aph' option; do
    case $option in
    t) seconds=$OPTARG ;;
    i) interval=$OPTARG ;;
    o) name=$OPTARG ;;
    n) count=$OPTARG packets=yes ;;
    a) hide=yes ;;
    p) packets=yes ;;
    h) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || fail "unexpected word '$1'" 'sh collect.sh -h lists the options'
is_number "$seconds" || fail "-t '$seconds' is not a number of seconds" 'for example -t 30'
is_number "$interval" || fail "-i '$interval' is not a number of seconds" 'for example -i 2'
is_number "$count" || fail "-n '$count' is not a number of packets" 'for example -n 200000'
[ $hide$packets != yesyes ] || fail '-a and -p exclude each other' 'a capture has addresses: leave one of them out'

host=$(uname -n)
if [ -z "$name" ]; then
    name=mptcp-$(date +%Y%m%d-%H%M%S)
    [ $hide = yes ] || name=mptcp-$(echo "$host" | tr -cd 'A-Za-z0-9_-')-$(date +%Y%m%d-%H%M%S)
fi
case $name in
-*) fail "the name '$name' begins with a hyphen" 'choose another name' ;;
esac
if [ -e "$name" ] || [ -e "$name.tar.gz" ]; then
    fail "'$name' exists" 'choose another name with -o'
fi
mkdir "$name" || fail "cannot make the folder '$name'" 'change to a folder that you may write'

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH LC_ALL=C
children=''
start=$(date +%s)

# End what runs in the background, also after Ctrl-C.
end_children() {
    for child in $children; do
        kill "$child" 2>/dev/null
    done
    children=''
}
trap end_children EXIT
trap 'exit 130' INT TERM HUP

note() {
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$name/index.txt"
}

# Append to FILE what a command prints, under a line with the time and the command; note a failure in the index.
# Usage: record FILE COMMAND...
record() {
    file=$1
    shift
    printf '### %s s: %s\n' "$(($(date +%s) - start))" "$*" >>"$name/$file"
    if ! command -v "$1" >/dev/null 2>&1; then
        note "$file" missing "$1 is not installed"
    elif "$@" >>"$name/$file" 2>"$name/.error"; then
        note "$file" read "$*"
    else
        note "$file" failed "$*: $(head -n 1 "$name/.error" | tr '\t' ' ')"
    fi
}

# Print settings in the form of `sysctl`, which small systems lack. The keys of TCP Fast Open are secrets.
list_settings() {
    for path in /proc/sys/net/mptcp/* /proc/sys/net/ipv4/tcp_* /proc/sys/net/core/[rw]mem_* \
        /proc/sys/net/core/default_qdisc /proc/sys/net/ipv4/conf/*/rp_filter /proc/sys/net/ipv4/ip_forward; do
        case $path in
        *_key) continue ;;
        esac
        [ -f "$path" ] || continue
        if value=$(cat "$path" 2>/dev/null); then
            key=${path#/proc/sys/}
            echo "$key = $value" | awk '{ gsub("/", ".", $1); print; exit }'
        fi
    done
}

list_counters() {
    cat /proc/net/snmp /proc/net/netstat
}

record_counters() {
    if command -v nstat >/dev/null 2>&1; then
        record counters.txt nstat -asz
    else
        record counters.txt list_counters
    fi
    record cpu.txt cat /proc/stat
    record queues.txt tc -s qdisc show
    record interfaces.txt ip -s link show
}

record_sockets() {
    record sockets-mptcp.txt ss -Mieanp
    record sockets-tcp.txt ss -tieanpm
}

# Print the route from each endpoint's address to each peer, as the kernel chooses it for a subflow.
list_routes() {
    ip mptcp endpoint show 2>/dev/null | awk '{ device = ""
        for (i = 2; i < NF; i++) if ($i == "dev") device = " oif " $(i + 1)
        print $1 device }' | head -n 8 >"$name/.endpoints"
    # The peers of all connections that any look at the sockets saw.
    awk '/ESTAB/ { for (i = 1; i + 4 <= NF; i++) if ($i == "ESTAB") {
        peer = $(i + 4); sub(/:[0-9]+$/, "", peer); gsub(/[][]|%.*/, "", peer)
        sub(/^::ffff:/, "", peer); print peer; break
    } }' "$name/sockets-mptcp.txt" | sort -u | head -n 8 >"$name/.peers"
    while read -r peer; do
        while read -r source; do
            # Only with a source of the same family: addresses of IPv6 have colons.
            case $peer in *:*) family=6 ;; *) family=4 ;; esac
            case $source in *:*) [ $family = 6 ] || continue ;; *) [ $family = 4 ] || continue ;; esac
            echo "# ip route get $peer from $source"
            # The words "oif DEVICE" have to be split.
            # shellcheck disable=SC2086
            ip route get "$peer" from $source 2>&1
        done <"$name/.endpoints"
    done <"$name/.peers"
    # A route that is missing is an answer, and no failure.
    return 0
}

in_background() {
    file=$1
    shift
    command -v "$1" >/dev/null 2>&1 || {
        note "$file" missing "$1 is not installed"
        return
    }
    printf '### 0 s: %s\n' "$*" >>"$name/$file"
    "$@" >>"$name/$file" 2>"$name/.error-$file" &
    children="$children $!"
    note "$file" read "$*"
}

echo "mptcplab collect 1" >"$name/index.txt"
note . started "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
note . duration "$seconds s"
note . user "$(id -u)"
note . hidden $hide

record system.txt uname -a
record sysctl.txt list_settings
record endpoints.txt ip mptcp endpoint show
record endpoints.txt ip mptcp limits show
record addresses.txt ip addr show
record routes.txt ip route show table all
record routes.txt ip -6 route show table all
record routes.txt ip rule show
record_counters
in_background monitor.txt ip mptcp monitor
if [ $packets = yes ]; then
    in_background packets.log tcpdump -i any -n -s 128 -c "$count" -w "$name/packets.pcap" tcp
fi

end=$((start + seconds))
record_sockets
while now=$(date +%s) && [ "$now" -lt $end ]; do
    left=$((end - now))
    [ $left -le "$interval" ] || left=$interval
    sleep "$left"
    record_sockets
done
record routes-chosen.txt list_routes
end_children
wait
record_counters
record endpoints.txt ip mptcp endpoint show
for file in monitor.txt packets.log; do
    if [ -s "$name/.error-$file" ] && ! grep -q 'listening on' "$name/.error-$file"; then
        note "$file" failed "$(head -n 1 "$name/.error-$file" | tr '\t' ' ')"
    fi
done
rm -f "$name/.error" "$name/.error-monitor.txt" "$name/.error-packets.log" "$name/.endpoints" "$name/.peers"

# Rename addresses and the host's name in all files, by one table. Each bit of an address is flipped or not, by a
# chance that depends on the bits before it: addresses with a common prefix keep one of the same length.
hide_addresses() {
    seed=$(tr -cd 0-9 </dev/urandom | head -c 9)
    # shellcheck disable=SC2016
    awk -v seed="$seed" -v host="$host" -v out="$name/.hidden" '
    # Return a whole number below LIMIT. The awk of small systems is often built without rand().
    function draw(limit) {
        state = state * 16807 % 2147483647
        return int(state / 7) % limit
    }
    function flip(node) {
        if (!(node in flips)) flips[node] = draw(2)
        return flips[node]
    }
    # Rename bits KEEP to SIZE - 1 of a number of SIZE bits below the prefix NODE.
    function rename_bits(node, value, size, keep,    i, bit, result) {
        result = 0
        for (i = 0; i < size; i++) {
            bit = int(value / power[size - 1 - i]) % 2
            result = result * 2 + (i < keep ? bit : (bit + flip(node)) % 2)
            node = node bit
        }
        return result
    }
    # Public addresses get another first octet that is public, too.
    function first_octet(octet,    new) {
        if (octet in firsts) return firsts[octet]
        do {
            new = 1 + draw(222)
        } while (new in taken || new == 10 || new == 100 || new == 127 || new == 169 || new == 172 || new == 192)
        taken[new]
        return firsts[octet] = new
    }
    function hide4(address, length_of,    p, i, keep, octets, node, first, value, n, is_network) {
        n = split(address, p, ".")
        for (i = 1; i <= n; i++) if (p[i] > 255 || length(p[i]) > 3) return address
        if (p[1] == 0 || p[1] == 127 || p[1] >= 224 || (p[1] == 169 && p[2] == 254)) return address
        if (length_of != "" && length_of < 8) return address
        first = p[1]; keep = 0
        if (p[1] == 172 && p[2] >= 16 && p[2] < 32) keep = 4
        else if (p[1] == 192 && p[2] == 168) keep = 8
        else if (p[1] == 100 && p[2] >= 64 && p[2] < 128) keep = 2
        else if (p[1] != 10) first = first_octet(p[1])
        is_network = length_of != "" && length_of < 32
        for (i = 1; i <= 4; i++) if (p[i] != clear(p[i], length_of - 8 * (i - 1), 8)) is_network = 0
        node = "4:" first (keep || p[1] == 10 ? "k" : "") "."
        octets = first
        for (i = 2; i <= 4; i++) {
            value = rename_bits(node, p[i], 8, i == 2 ? keep : 0)
            # A network stays a network: its bits after the prefix are 0.
            if (is_network) value = clear(value, length_of - 8 * (i - 1), 8)
            octets = octets "." value
            node = node p[i] "."
        }
        return octets
    }
    # Set the bits after the first LEFT of SIZE to 0.
    function clear(value, left, size) {
        return left >= size ? value + 0 : left <= 0 ? 0 : value - value % power[size - left]
    }
    function hex(text,    i, value) {
        value = 0
        for (i = 1; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
        return value
    }
    function hide6(address, length_of,    head, value, h, t, n, m, i, group, node, keep, result, is_network) {
        i = index(address, "::")
        n = split(i ? substr(address, 1, i - 1) : address, h, ":")
        m = i ? split(substr(address, i + 2), t, ":") : 0
        if (n + m > 8 || (!i && n != 8)) return address
        for (i = 1; i <= 8; i++) group[i] = i <= n ? h[i] : i > 8 - m ? t[i - 8 + m] : "0"
        for (i = 1; i <= 8; i++) if (group[i] !~ /^[0-9a-f]+$/ || length(group[i]) > 4) return address
        head = hex(group[1])
        if (head == 0 || head >= 65280) return address
        keep = head >= 65152 && head < 65216 ? 16 : head >= 64512 && head < 65024 ? 7 : 3
        is_network = length_of != "" && length_of < 128
        for (i = 1; i <= 8; i++) {
            value = clear(hex(group[i]), length_of - 16 * (i - 1), 16)
            if (value != hex(group[i])) is_network = 0
        }
        node = "6:"; result = ""
        for (i = 1; i <= 8; i++) {
            value = rename_bits(node, hex(group[i]), 16, i == 1 ? keep : keep == 16 && i < 5 ? 16 : 0)
            if (is_network) value = clear(value, length_of - 16 * (i - 1), 16)
            result = result (i > 1 ? ":" : "") sprintf("%x", value)
            node = node hex(group[i]) ":"
        }
        if (match(result, /(:0)+$/) && RLENGTH > 2) result = substr(result, 1, RSTART - 1) "::"
        return result
    }
    function hide_mac(address) {
        if (address == "00:00:00:00:00:00" || address == "ff:ff:ff:ff:ff:ff") return address
        if (!(address in macs)) macs[address] = sprintf("02:00:00:00:%02x:%02x", int(++n_macs / 256), n_macs % 256)
        return macs[address]
    }
    function hide_word(word, rest,    size) {
        size = match(rest, /^\/[0-9]+/) ? substr(rest, 2, RLENGTH - 1) + 0 : ""
        if (word ~ /^[0-9.]+$/) return hide4(word, size)
        if (word ~ /^::ffff:[0-9.]+$/) return "::ffff:" hide4(substr(word, 8), "")
        if (word ~ /^[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]$/)
            return hide_mac(word)
        return hide6(word, size)
    }
    function hide_line(line,    done, word) {
        done = ""
        while (match(line, /[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|[0-9a-fA-F:]*:[0-9a-fA-F:]*:[0-9a-fA-F:.]*/)) {
            word = substr(line, RSTART, RLENGTH)
            done = done substr(line, 1, RSTART - 1)
            line = substr(line, RSTART + RLENGTH)
            done = done hide_word(tolower(word), line)
        }
        return done line
    }
    function hide_host(line,    done, at, around) {
        done = ""
        while (host != "" && (at = index(line, host)) > 0) {
            around = (at > 1 ? substr(line, at - 1, 1) : " ") substr(line, at + length(host), 1)
            done = done substr(line, 1, at - 1) (around ~ /[A-Za-z0-9_-]/ ? host : "host")
            line = substr(line, at + length(host))
        }
        return done line
    }
    BEGIN {
        state = 1 + seed % 2147483646
        power[0] = 1
        for (i = 1; i <= 16; i++) power[i] = 2 * power[i - 1]
    }
    FNR == 1 { if (file != "") close(file); file = FILENAME; sub(/.*\//, "", file); file = out "/" file }
    { print hide_host(hide_line($0)) > file }
    ' "$name"/*.txt
}

if [ $hide = yes ]; then
    mkdir "$name/.hidden"
    if hide_addresses; then
        mv -f "$name/.hidden"/*.txt "$name"
        rmdir "$name/.hidden"
    else
        rm -rf "$name"
        fail 'awk failed, so nothing was kept' 'try without -a'
    fi
fi

if tar -czf "$name.tar.gz" "$name" 2>/dev/null; then
    rm -rf "$name"
    echo "Written: $name.tar.gz"
else
    rm -f "$name.tar.gz"
    echo "Written: the folder $name (tar could not make an archive)"
fi
echo "Next: mptcplab explain $name*"
