"""W7 with a CRDT library: replica B makes 100,000 field changes on 10,000 records, A takes them in.

Usage: crdt.py loro|yrs W7|bytes [DIRECTORY]
The changes travel as one message, then, with new replicas, as 1,000 messages of 100 changes each.
Only native calls are timed; the loops of Python that make the changes are not.
For bytes there are 1,000 commits of one change: as a message each, and as one message of all.
"""

import struct
import sys
import time

RECORDS, CHANGES, CHECK = 10_000, 100_000, 49_753_625.00
WORDS = (
    "alpha bread cloud delta eager fable grape house ideal jolly kite lemon maple night ocean"
    " paper quiet river stone table under vivid water xenon young zebra amber birch candle dusk"
    " ember forest garden harbor island jacket kettle ladder meadow needle orange pencil quartz"
    " ribbon saddle timber umbrella velvet window yellow the of and to in is on at by for with"
    " from into over"
).split()


def mix64(x):
    mask = (1 << 64) - 1
    x = x + 0x9E3779B97F4A7C15 & mask
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return x ^ x >> 31


def identifier(number):
    return struct.pack("<QQ", mix64(2 * number + 1), mix64(2 * number + 2)).hex()


def fields(number):
    seed, note, k = 64 * number, "", 0
    while len(note) < 128:
        note += " " * bool(note) + WORDS[mix64(seed + k + 0x500000000) & 63]
        k += 1
    created = 1_600_000_000_000 + 37_000 * number
    return {
        "seq": number,
        "category": mix64(seed + 0x100000000) % 100,
        "price": mix64(seed + 0x200000000) % 1_000_000 / 100,
        "done": bool(mix64(seed + 0x300000000) & 1),
        "owner": f"user-{mix64(seed + 0x400000000) % 1000:04}",
        "note": note,
        "created": created,
        "modified": created + mix64(seed + 0x600000000) % 10_000_000_000,
    }


def change(t):
    """The record that step t touches, and the price it writes."""
    number = mix64(t + 0xABC000000000) % RECORDS
    return number, mix64(t + 0xDEF000000000) % 1_000_000 / 100


class LoroReplica:
    def __init__(self, base=None):
        import loro

        self.loro, self.document = loro, loro.LoroDoc()
        self.root = self.document.get_map("records")
        if base:
            self.take_in(base)
            self.records = [self.root.get(identifier(n)).container for n in range(RECORDS)]

    def fill(self):
        for number in range(RECORDS):
            record = self.root.insert_container(identifier(number), self.loro.LoroMap())
            for name, value in fields(number).items():
                record.insert(name, value)
        self.document.commit()

    def snapshot(self):
        return self.document.export(self.loro.ExportMode.Snapshot())

    def commit(self, changes):
        """Makes the changes; returns what gives their message."""
        before = self.document.oplog_vv
        for number, price in changes:
            self.records[number].insert("price", price)
        self.document.commit()
        return lambda: self.document.export(self.loro.ExportMode.Updates(before))

    def since(self):
        """What gives one message of all that is committed from here on."""
        before = self.document.oplog_vv
        return lambda: self.document.export(self.loro.ExportMode.Updates(before))

    def take_in(self, message):
        self.document.import_(message)

    def total(self):
        return sum(r["price"] for r in self.document.get_deep_value()["records"].values())


class YrsReplica:
    def __init__(self, base=None):
        import pycrdt

        self.pycrdt, self.document = pycrdt, pycrdt.Doc()
        self.root = self.document.get("records", type=pycrdt.Map)
        self.message = self.observer = None
        if base:
            self.take_in(base)
            self.records = [self.root[identifier(n)] for n in range(RECORDS)]

    def fill(self):
        with self.document.transaction():
            for number in range(RECORDS):
                self.root[identifier(number)] = self.pycrdt.Map(fields(number))

    def snapshot(self):
        return self.document.get_update()

    def keep(self, event):
        self.message = event.update

    def commit(self, changes):
        # An update asked for by state would repeat all deletions so far; an observer's does not.
        self.observer = self.observer or self.document.observe(self.keep)
        with self.document.transaction():
            for number, price in changes:
                self.records[number]["price"] = price
        return lambda: self.message

    def since(self):
        before = self.document.get_state()
        return lambda: self.document.get_update(before)

    def take_in(self, message):
        self.document.apply_update(message)

    def total(self):
        return sum(r["price"] for r in self.root.to_py().values())


def timed(call, *arguments):
    start = time.perf_counter()
    result = call(*arguments)
    return result, (time.perf_counter() - start) * 1e3


def measure(replica, base, messages, figure, suffix):
    author = replica(base)
    step, sent, encoding = CHANGES // messages, [], 0.0
    for first in range(0, CHANGES, step):
        encode = author.commit([change(t) for t in range(first, first + step)])
        message, milliseconds = timed(encode)
        sent.append(message)
        encoding += milliseconds
    reader = replica(base)
    _, applying = timed(lambda: [reader.take_in(message) for message in sent])
    figure("encode" + suffix + "_ms", encoding)
    figure("apply" + suffix + "_ms", applying)
    figure("message" + suffix + "_MB", sum(map(len, sent)) / 1e6)
    if abs(reader.total() - CHECK) > 0.005:
        sys.exit(f"wrong result: {reader.total():.2f} instead of {CHECK:.2f}")


def sizes(replica, base, figure):
    author, edits = replica(base), 1000
    all_since = author.since()
    sent = [author.commit([change(t)])() for t in range(edits)]
    figure("message_B", sum(map(len, sent)) / edits)
    figure("batch_B", len(all_since()) / edits)


def main():
    name, workload = sys.argv[1:3]
    replica = {"loro": LoroReplica, "yrs": YrsReplica}[name]
    if workload not in ["W7", "bytes"]:
        sys.exit(f"no such workload: {workload}")

    def figure(metric, value):
        print(workload, name, metric, f"{value:.6g}", sep="\t", flush=True)

    first = replica()
    first.fill()
    base = first.snapshot()
    if workload == "bytes":
        sizes(replica, base, figure)
        return
    figure("snapshot_MB", len(base) / 1e6)
    measure(replica, base, 1, figure, "")
    measure(replica, base, 1000, figure, "_1000")


main()
