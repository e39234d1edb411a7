# SPDX-License-Identifier: MIT
"""The queueing disciplines of one device as the keys of one direction, and quantities as ``tc`` writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mptcplab.importers.world import Device, ImportedDiscipline, Shape, World
from mptcplab.scenario.writing import CommentedValue
from mptcplab.units import Duration, Packets, Probability, QueueLength, Rate, Size

# Quantities as ``tc`` writes them (tc(8), "PARAMETERS"), as texts of the scenario language.
#
# ``tc`` has traps: a rate in ``mbps`` is in bytes per second, a time without unit is in microseconds, and ``k`` of a
# size is 1024 bytes.

_NUMBER = re.compile(r"(?P<number>\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?P<unit>[A-Za-z%]*)")
_DECIMAL, _BINARY = (1, 10**3, 10**6, 10**9, 10**12), (1, 2**10, 2**20, 2**30, 2**40)
_RATES = {
    **{f"{prefix}bit": factor for prefix, factor in zip(("", "k", "m", "g", "t"), _DECIMAL, strict=True)},
    **{f"{prefix}ibit": factor for prefix, factor in zip("kmgt", _BINARY[1:], strict=True)},
    **{f"{prefix}bps": 8 * factor for prefix, factor in zip(("", "k", "m", "g", "t"), _DECIMAL, strict=True)},
    **{f"{prefix}ibps": 8 * factor for prefix, factor in zip("kmgt", _BINARY[1:], strict=True)},
    "": 1,
}
_TIMES = {
    **dict.fromkeys(("s", "sec", "secs"), 10**9),
    **dict.fromkeys(("ms", "msec", "msecs"), 10**6),
    **dict.fromkeys(("us", "usec", "usecs", ""), 10**3),
    **dict.fromkeys(("ns", "nsec", "nsecs"), 1),
}
_SIZES = {
    **dict.fromkeys(("b", ""), Fraction(1)),
    **{name: Fraction(1024) for name in ("k", "kb")},
    **{name: Fraction(1024**2) for name in ("m", "mb")},
    **{name: Fraction(1024**3) for name in ("g", "gb")},
    **{f"{prefix}bit": Fraction(factor, 8) for prefix, factor in zip("kmg", _BINARY[1:4], strict=True)},
}
_MAX = 2**62
#: An option of a discipline, not a value.
_OPTION = re.compile(r"[a-z][a-z0-9_-]*")


def _value(text: str, units: dict[str, int] | dict[str, Fraction]) -> int | None:
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"].lower() not in units:
        return None
    value = int(Fraction(match["number"]) * units[match["unit"].lower()])
    return value if value < _MAX else None


def read_rate(text: str) -> Rate | None:
    """Return a rate of ``tc``; None if it is none."""
    value = _value(text, _RATES)
    return None if value is None else Rate(value)


def read_time(text: str) -> Duration | None:
    """Return a time of ``tc``; None if it is none."""
    value = _value(text, _TIMES)
    return None if value is None else Duration(value)


def read_size(text: str) -> Size | None:
    """Return a size of ``tc``, also in its form ``BYTES/MTU``; None if it is none."""
    value = _value(text.partition("/")[0], _SIZES)
    return None if value is None else Size(value)


def read_percent(text: str) -> Probability | None:
    """Return a percentage, with or without its sign; None if it is none, or above 100 %."""
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"] not in ("", "%"):
        return None
    value = int(Fraction(match["number"]) * 10**7)
    return Probability(value) if value <= 10**9 else None


def read_share(text: str) -> Probability | None:
    """Return a probability from 0 to 1, without a sign; None if it is none."""
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"]:
        return None
    value = int(Fraction(match["number"]) * 10**9)
    return Probability(value) if value <= 10**9 else None


def read_count(text: str) -> int | None:
    """Return a whole number; None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None


def rate_of_mbit(number: float) -> Rate | None:
    """Return a rate of a number in Mbit/s; None if it is not a possible rate."""
    value = _scale(number, 10**6)
    return None if value is None else Rate(value)


def time_of_ms(number: float) -> Duration | None:
    """Return a time of a number in milliseconds; None if it is not a possible time."""
    value = _scale(number, 10**6)
    return None if value is None else Duration(value)


def share_of_percent(number: float) -> Probability | None:
    """Return a probability of a number in percent; None if it is not a possible one."""
    value = _scale(number, 10**7)
    return None if value is None or value > 10**9 else Probability(value)


def _scale(number: float, factor: int) -> int | None:
    if not 0 <= number < 10**9:
        return None
    return round(Fraction(str(number)) * factor)


# The queueing disciplines of one device as the keys of one direction of a link.
#
# A device has a tree: ``netem`` with ``tbf`` below it, ``htb`` with classes and a discipline in each, or one alone.
# Where a rate is above ``netem``, its limit is the queue of that rate; else it bounds the packets that are being
# delayed.

#: netem's own limit in packets, and the length of a device's own queue (``txqueuelen``).
_NETEM_LIMIT, _DEVICE_QUEUE = 1000, 1000
#: The lab's own limit of delayed packets: as good as none.
_NO_LIMIT = 1_000_000
#: A rate of netem above the highest of a link only keeps packets in order.
_MAX_RATE = 10**11
_MIN_RATE, _MIN_QUEUE, _MIN_BURST, _MAX_QUEUE = 1000, 1514, 1600, 2**30
_MAX_DELAY, _MAX_SPREAD = 3600 * 10**9, 2 * 10**9
_MAX_BURST_S = 250
_MAX_SLOT = 10**9
_MIN_SPAN, _MAX_SPAN = 1000, 10**10
_AQM_TIMES = {"target": "target", "interval": "interval", "tupdate": "update", "rtt": "interval"}
_TREE = ("htb", "hfsc", "prio", "drr", "qfq", "mq", "mqprio", "multiq")
_TAIL_DROP = ("pfifo", "bfifo", "pfifo_fast", "pfifo_head_drop", "noqueue")
_AQM = ("codel", "fq_codel", "pie", "fq_pie")
_FQ_CODEL_PACKETS, _CODEL_PACKETS = 10240, 1000


def read_shape(world: World, device: Device) -> Shape:
    """Return what a device does to the packets that it sends; what is not understood is noted."""
    shape = _Shape(world)
    for discipline in _path(world, device):
        shape.add(discipline)
    return shape.finish()


def _path(world: World, device: Device) -> list[ImportedDiscipline]:
    """Return the disciplines and classes that ordinary packets pass, from the root down."""
    passed: list[ImportedDiscipline] = []
    left = list(device.disciplines)
    parents = {"root"}
    while below := [entry for entry in left if entry.parent in parents]:
        chosen = _choose(device, below)
        passed.append(chosen)
        left.remove(chosen)
        major = chosen.handle.partition(":")[0]
        has_classes = chosen.is_class or chosen.kind in _TREE
        parents = {chosen.handle} if chosen.is_class else {chosen.handle, f"{major}:", f"{major}:0"}
        if not has_classes:
            parents.add(f"{major}:1")
    for discipline in left:
        world.skip(discipline.origin, _text(discipline), "packets take another class, or its parent is not known")
    return passed


def _choose(device: Device, below: list[ImportedDiscipline]) -> ImportedDiscipline:
    """Return the class for packets that no filter sends elsewhere, or the class that leads to it."""
    if len(below) == 1 or not below[0].is_class:
        return below[-1]
    by_handle = {entry.handle: entry for entry in device.disciplines if entry.is_class}
    for discipline in device.disciplines:
        if "default" not in discipline.words[:-1]:
            continue
        wanted = discipline.words[discipline.words.index("default") + 1].removeprefix("0x")
        entry = next(
            (known for handle, known in by_handle.items() if handle.partition(":")[2].removeprefix("0x") == wanted),
            None,
        )
        for _ in range(len(by_handle)):
            if entry is None or entry in below:
                break
            entry = by_handle.get(entry.parent)
        if entry is not None and entry in below:
            return entry
    return below[0]


def _text(discipline: ImportedDiscipline) -> str:
    return " ".join(("class" if discipline.is_class else "qdisc", discipline.kind, *discipline.words))


class _Shape:
    """Collects the keys of one direction."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._keys: Shape = {}
        self._aqm: dict[str, Any] = {}
        self._limit: CommentedValue | None = None
        self._delays = self._has_rate_above = False

    def add(self, discipline: ImportedDiscipline) -> None:
        """Take one discipline, below the ones added before."""
        kind = discipline.kind
        if discipline.is_class:
            self._take_class(discipline)
        elif kind == "netem":
            self._take_netem(discipline)
        elif kind == "tbf":
            self._take_tbf(discipline)
        elif kind == "cake":
            self._take_cake(discipline)
        elif kind in _AQM:
            self._take_aqm(discipline)
        elif kind == "red":
            self._take_red(discipline)
        elif kind in _TAIL_DROP:
            self._take_fifo(discipline)
        elif kind in _TREE:
            self._world.replace(
                "classes of disciplines (the rate is from the class for ordinary packets)", discipline.origin
            )
        else:
            self._skip(discipline, f"the lab has no discipline like {kind}")

    def finish(self) -> Shape:
        """Return the keys, without keys that do nothing."""
        keys = self._keys
        if self._limit is not None:
            packets = int(Packets.parse(self._limit.value))
            if "rate" in keys and self._has_rate_above and "discipline" not in keys:
                # netem below a shaper takes the place of the shaper's own queue.
                keys["queue"] = CommentedValue(
                    self._limit.value, f"{self._limit.comment}; also counts packets that netem delays"
                )
            elif packets < _NO_LIMIT:
                keys["delay_limit"] = self._limit
        if self._aqm:
            keys["aqm"] = CommentedValue(self._aqm, keys["discipline"].comment)
        return keys

    def _set(self, key: str, value: Any, discipline: ImportedDiscipline, about: str = "") -> None:
        comment = str(discipline.origin)
        self._keys[key] = CommentedValue(value, f"{comment}: {about}" if about else comment)

    def _skip(self, discipline: ImportedDiscipline, reason: str) -> None:
        self._world.skip(discipline.origin, _text(discipline), reason)

    def _set_rate(self, rate: Rate, discipline: ImportedDiscipline) -> None:
        if not _MIN_RATE <= rate <= _MAX_RATE:
            self._skip(discipline, "its rate is not one of a link")
            return
        before = self._keys.get("rate")
        if before is not None and Rate.parse(before.value) <= rate:
            return  # the lowest rate on the way counts
        self._set("rate", str(rate), discipline)
        self._has_rate_above = not self._delays

    def _set_queue(
        self, packets: int | None, size: int | None, discipline: ImportedDiscipline, about: str = ""
    ) -> None:
        if packets:
            self._set("queue", str(Packets(packets)), discipline, about)
        elif size and size >= _MIN_QUEUE:
            self._set("queue", str(Size(min(size, _MAX_QUEUE))), discipline, about)
        else:
            self._skip(discipline, "its queue holds less than a packet")

    def _holds(self, packets: int) -> bool:
        """Return whether the shaper's queue in bytes is as long as the one of a discipline below it, in packets."""
        queue = self._keys.get("queue")
        size = None if queue is None else QueueLength.parse(queue.value).size
        return size is not None and int(size) // _MIN_QUEUE == packets

    def _options(self, discipline: ImportedDiscipline) -> _Options:
        return _Options(discipline, self._skip)

    # -- one kind each

    def _take_class(self, discipline: ImportedDiscipline) -> None:
        options = self._options(discipline)
        rate = options.take("ceil", read_rate) or options.take("rate", read_rate)
        if rate is None:
            self._skip(discipline, "it has no rate")
            return
        self._set_rate(rate, discipline)

    def _take_tbf(self, discipline: ImportedDiscipline) -> None:
        options = self._options(discipline)
        rate = options.take("rate", read_rate)
        if rate is None:
            self._skip(discipline, "it has no rate")
            return
        self._set_rate(rate, discipline)
        burst = next(
            (size for name in ("burst", "buffer", "maxburst") if (size := options.take(name, read_size))), None
        )
        if burst is not None and burst > _MIN_BURST:
            self._set("burst", str(Size(min(burst, int(rate) * _MAX_BURST_S // 8, _MAX_QUEUE))), discipline)
        limit, latency = options.take("limit", read_size), options.take("latency", read_time)
        if limit is not None:
            self._set_queue(None, int(limit), discipline)
        elif latency is not None:
            size = int(rate) * int(latency) // (8 * 10**9) + int(burst or 0)
            self._set_queue(None, size, discipline, f"{latency} at its rate, and the burst")
        overhead = options.take("overhead", read_count)
        if overhead:
            self._set("overhead", str(Size(min(overhead, 80))), discipline)
        options.skip_rest(("rate", "burst", "limit", "latency", "overhead", "mtu", "minburst", "peakrate", "mpu"))

    def _take_cake(self, discipline: ImportedDiscipline) -> None:
        options = self._options(discipline)
        rate = options.take("bandwidth", read_rate)
        if rate is not None:
            self._set_rate(rate, discipline)
        self._set("discipline", "cake", discipline)
        self._keys.pop("queue", None)
        self._keys.pop("burst", None)
        self._take_times(options, ("rtt",))
        overhead = options.take("overhead", read_count)
        if overhead is not None and overhead > 14:
            self._set(
                "overhead",
                str(Size(min(overhead - 14, 80))),
                discipline,
                "beyond the Ethernet header, which the lab counts",
            )
        known = (
            "bandwidth",
            "rtt",
            "overhead",
            "internet",
            "triple-isolate",
            "unlimited",
            "besteffort",
            "nonat",
            "nowash",
            "no-ack-filter",
            "split-gso",
            "raw",
        )
        options.skip_rest(known)

    def _take_aqm(self, discipline: ImportedDiscipline) -> None:
        options = self._options(discipline)
        kind = discipline.kind
        self._set("discipline", kind, discipline)
        default = _FQ_CODEL_PACKETS if kind == "fq_codel" else _CODEL_PACKETS
        packets = options.take("limit", read_count) or default
        if not self._holds(packets):
            self._set_queue(packets, None, discipline)
        self._take_times(options, ("target", "interval") if "codel" in kind else ("target", "tupdate"))
        if "ecn" in discipline.words or (kind == "fq_codel" and "noecn" not in discipline.words):
            self._aqm["ecn"] = True
        options.skip_rest(
            ("limit", "target", "interval", "tupdate", "ecn", "noecn", "quantum", "flows", "memory_limit", "drop_batch")
        )

    def _take_times(self, options: _Options, names: tuple[str, ...]) -> None:
        for name in names:
            time = options.take(name, read_time)
            if time is not None and _MIN_SPAN <= time <= _MAX_SPAN:
                self._aqm[_AQM_TIMES[name]] = str(time)

    def _take_red(self, discipline: ImportedDiscipline) -> None:
        options = self._options(discipline)
        limit, low, high = (options.take(name, read_size) for name in ("limit", "min", "max"))
        if limit is None or (low is not None and high is not None and not 0 < low < high <= limit):
            self._skip(discipline, "min, max and limit are not in order")
            return
        self._set("discipline", "red", discipline)
        self._set_queue(None, int(limit), discipline)
        if low is not None and high is not None:
            self._aqm |= {"min": str(low), "max": str(high)}
        probability = options.take("probability", read_share)
        if probability is not None and 0 < probability < 10**9:
            self._aqm["probability"] = str(probability)
        if "ecn" in discipline.words:
            self._aqm["ecn"] = True
        options.skip_rest(
            ("limit", "min", "max", "avpkt", "burst", "probability", "bandwidth", "ecn", "adaptive", "harddrop")
        )

    def _take_fifo(self, discipline: ImportedDiscipline) -> None:
        options = self._options(discipline)
        if discipline.kind == "bfifo":
            size = options.take("limit", read_size)
            if size is not None:
                self._set_queue(None, int(size), discipline)
        elif discipline.kind != "noqueue":
            packets = options.take("limit", read_count) or _DEVICE_QUEUE
            self._set_queue(packets, None, discipline)

    def _take_netem(self, discipline: ImportedDiscipline) -> None:
        options = self._options(discipline)
        limit = options.take("limit", read_count)
        comment = str(discipline.origin) if limit else f"{discipline.origin}: netem's own limit"
        self._limit = CommentedValue(str(Packets(limit or _NETEM_LIMIT)), comment)
        rate = options.take("rate", read_rate)
        keeps_order = rate is not None
        if rate is not None and rate <= _MAX_RATE:
            self._set_rate(rate, discipline)
            self._has_rate_above = True
        self._take_delay(options, discipline, keeps_order=keeps_order)
        self._take_loss(options, discipline)
        for name in ("duplicate", "corrupt"):
            share = options.take(name, read_percent)
            if share:
                self._set(name, str(share), discipline)
                options.skip_correlation(name)
        self._take_slot(options, discipline)
        self._delays = True
        options.skip_rest(
            (
                "limit",
                "rate",
                "delay",
                "distribution",
                "loss",
                "random",
                "gemodel",
                "duplicate",
                "corrupt",
                "reorder",
                "gap",
                "slot",
                "packets",
                "bytes",
            )
        )

    def _take_slot(self, options: _Options, discipline: ImportedDiscipline) -> None:
        if options.word("slot") is None:
            return
        slot = options.take("slot", read_time)
        longest = options.value_at("slot", 1, read_time)
        is_limited = options.word("packets") is not None or options.word("bytes") is not None
        if slot is None or is_limited or longest not in (None, slot) or not 0 < slot <= _MAX_SLOT:
            self._skip(discipline, "its slots vary, are limited, or are longer than 1 s")
        else:
            self._set("batch", str(slot), discipline)

    def _take_delay(self, options: _Options, discipline: ImportedDiscipline, *, keeps_order: bool) -> None:
        delay = options.take("delay", read_time) or options.take("latency", read_time)
        if delay is None or not 0 < delay <= _MAX_DELAY:
            return
        self._set("delay", str(delay), discipline)
        jitter = options.value_at("delay", 1, read_time)
        reorder = options.take("reorder", read_percent)
        if (options.take("gap", read_count) or 0) > 1:
            self._skip(discipline, "the lab reorders packets by chance, not every Nth of them")
            reorder = None
        if jitter:
            if jitter > delay:
                self._skip(discipline, "its jitter is longer than its delay, to which it is reduced")
                jitter = Duration(int(delay))
            if jitter > _MAX_SPREAD:
                self._skip(discipline, "its jitter is too long")
                return
            self._set("jitter", str(jitter), discipline)
            options.skip_correlation("delay", 2)
            distribution = options.word("distribution")
            if distribution in ("normal", "pareto", "paretonormal"):
                self._set("distribution", distribution, discipline)
            if not keeps_order:
                self._set("overtake", True, discipline, "netem without a rate does not keep packets in order")
        elif reorder is not None and reorder * 2**14 >= 10**9 and delay <= _MAX_SPREAD:
            self._set("reorder", str(reorder), discipline)
            reorder = None
            options.skip_correlation("reorder")
        if reorder:
            self._skip(discipline, "reordering is not possible with this delay or jitter")

    def _take_loss(self, options: _Options, discipline: ImportedDiscipline) -> None:
        words = options.words_after("loss", 6)
        if not words:
            return
        if words[0] == "gemodel":
            shares = [share for word in words[1:5] if (share := read_percent(word)) is not None]
            if not shares or (len(shares) > 1 and not shares[1]):
                self._skip(discipline, "its loss model has no probabilities")
                return
            names = ("p", "r", "1-h", "1-k")
            chain = {name: str(share) for name, share in zip(names, shares, strict=False)}
            chain.setdefault("r", str(Probability(10**9 - int(shares[0]))))
            if chain["r"] != "0 %":
                self._set("burst_loss", chain, discipline)
            return
        share = read_percent(words[1] if words[0] == "random" and len(words) > 1 else words[0])
        if share is None:
            self._skip(discipline, "its model of loss is not known")
        elif share:
            self._set("loss", str(share), discipline)
            options.skip_correlation("loss", 2 if words[0] == "random" else 1)


class _Options:
    """The words of one discipline, by name."""

    def __init__(self, discipline: ImportedDiscipline, skip: Callable[[ImportedDiscipline, str], None]) -> None:
        self._discipline, self._skip = discipline, skip
        self._words = discipline.words

    def take(self, name: str, read: Callable[[str], Any]) -> Any:
        """Return the value of an option; None if it is missing, or not of this kind."""
        word = self.word(name)
        return None if word is None else read(word)

    def word(self, name: str) -> str | None:
        """Return the word after an option."""
        return next(iter(self.words_after(name, 1)), None)

    def words_after(self, name: str, count: int) -> tuple[str, ...]:
        """Return up to ``count`` words after an option."""
        if name not in self._words:
            return ()
        index = self._words.index(name)
        return self._words[index + 1 : index + 1 + count]

    def value_at(self, name: str, place: int, read: Callable[[str], Any]) -> Any:
        """Return the value at a place after the first value of an option."""
        words = self.words_after(name, place + 1)
        return read(words[place]) if len(words) > place else None

    def skip_correlation(self, name: str, place: int = 1) -> None:
        """Note that a correlation of netem is not imported."""
        if self.value_at(name, place, read_percent) is not None:
            self._skip(self._discipline, f"the correlation of {name}: the lab draws for each packet independently")

    def skip_rest(self, known: tuple[str, ...]) -> None:
        """Note the options that the lab has not."""
        names = [word for word in self._words if _OPTION.fullmatch(word) and word not in known]
        values = {self.word(name) for name in known}
        left = [name for name in names if name not in values]
        if left:
            self._skip(self._discipline, f"options that the lab has not: {' '.join(left[:6])}")
