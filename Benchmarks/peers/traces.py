"""W8 with a CRDT library: recordings of people who type, keystroke by keystroke.

Usage: traces.py loro-list|loro-text|yrs-text|loop W8 [DIRECTORY]
CAIRN_TRACES names the directory of the recordings; `traces/ORIGIN.md` tells what they look like.
Every keystroke is one call from Python, and in the second half of the figures one message. `loop` makes
the same calls of a replica that does nothing: what of the figures is Python.
"""

import os
import sys
import time
from pathlib import Path


def unescaped(text):
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")


class Trace:
    """Transactions: their author, their parents, and patches of place, deletions and text."""

    def __init__(self, name):
        self.authors, self.parents, self.patches, self.text = [], [], [], ""
        self.cursor, self.author, self.next_parents = 0, 0, []
        path = Path(os.environ["CAIRN_TRACES"]) / f"{name}.trace"
        lines = path.read_text(encoding="ascii").split("\n")
        self.people = int(lines[0].split()[0])
        for line in lines[1:]:
            if line:
                self.read(line[0], line[1:])

    def read(self, kind, rest):
        if kind == "@":
            self.author, *self.next_parents = map(int, rest.split())
        elif kind == "+":
            for letter in unescaped(rest):
                self.step((self.cursor, 0, letter))
        elif kind == "-":
            for _ in range(int(rest)):
                self.step((self.cursor - 1, 1, ""))
        elif kind in "=&":
            place, count, text = rest.split(" ", 2)
            self.step((int(place), int(count), unescaped(text)), kind == "&")
        else:
            self.text = unescaped(rest)

    def step(self, patch, continues=False):
        self.cursor = patch[0] + len(patch[2])
        if continues:
            self.patches[-1].append(patch)
            return
        self.authors.append(self.author)
        self.parents.append(self.next_parents)
        self.patches.append([patch])
        self.next_parents = [len(self.patches) - 1]


class LoroReplica:
    as_list = False

    def __init__(self, number=99):
        import loro

        self.loro, self.document = loro, loro.LoroDoc()
        self.document.peer_id = number + 1
        kind = self.document.get_list if self.as_list else self.document.get_text
        self.items = kind("items")

    def type(self, patches):
        for place, count, text in patches:
            if count:
                self.items.delete(place, count)
            if self.as_list:
                for offset, letter in enumerate(text):
                    self.items.insert(place + offset, letter)
            elif text:
                self.items.insert(place, text)

    def commit(self):
        self.document.commit()

    def message_of(self, patches):
        before = self.document.oplog_vv
        self.type(patches)
        self.commit()
        return self.document.export(self.loro.ExportMode.Updates(before))

    def take_in(self, message):
        self.document.import_(message)

    def snapshot(self):
        return self.document.export(self.loro.ExportMode.Snapshot())

    def read(self):
        return self.items.get_value() if self.as_list else self.items.to_string()


class LoroListReplica(LoroReplica):
    as_list = True


class YrsReplica:
    def __init__(self, number=99):
        import pycrdt

        self.pycrdt, self.document = pycrdt, pycrdt.Doc(client_id=number + 1)
        self.items = self.document.get("items", type=pycrdt.Text)
        self.message = self.observer = None

    def type(self, patches):
        with self.document.transaction():
            for place, count, text in patches:
                if count:
                    del self.items[place : place + count]
                if text:
                    self.items.insert(place, text)

    def commit(self):
        pass

    def keep(self, event):
        self.message = event.update

    def message_of(self, patches):
        # An update asked for by state would repeat all deletions so far; an observer's does not.
        self.observer = self.observer or self.document.observe(self.keep)
        self.type(patches)
        return self.message

    def take_in(self, message):
        self.document.apply_update(message)

    def snapshot(self):
        return self.document.get_update()

    def read(self):
        return str(self.items)


class Nothing:
    """What is left of a replica when it has no library."""

    def __init__(self, number=99):
        self.number = number

    def type(self, patches):
        for place, count, text in patches:
            if count:
                self.step(place, count)
            if text:
                self.step(place, text)

    def step(self, place, what):
        pass

    def commit(self):
        pass

    def take_in(self, message):
        pass


def walk(figure):
    """The calls of `typing` and of `messages`, of a replica that does nothing."""
    trace = Trace("automerge-paper")
    writer = Nothing()

    def at_once():
        writer.type(patch for patches in trace.patches for patch in patches)
        writer.commit()

    def one_by_one():
        for patches in trace.patches:
            writer.type(patches)
            writer.commit()

    figure("one_commit_ms", timed(at_once)[1])
    figure("keystrokes_ms", timed(one_by_one)[1])
    for name, suffix in [("friendsforever", ""), ("clownschool", "_clownschool")]:
        sent = Trace(name).patches
        figure("messages" + suffix + "_ms", timed(lambda: [writer.take_in(m) for m in sent])[1])


def timed(call):
    start = time.perf_counter()
    result = call()
    return result, (time.perf_counter() - start) * 1e3


def check(items, trace):
    if "".join(items) != trace.text:
        sys.exit("wrong text")


def typing(replica, figure, one_commit):
    trace = Trace("automerge-paper")
    if one_commit:  # Yrs takes a minute: in one transaction it never puts its blocks together
        writer = replica()

        def at_once():
            writer.type(patch for patches in trace.patches for patch in patches)
            writer.commit()

        figure("one_commit_ms", timed(at_once)[1])
        check(writer.read(), trace)
    writer = replica()

    def one_by_one():
        for patches in trace.patches:
            writer.type(patches)
            writer.commit()

    figure("keystrokes_ms", timed(one_by_one)[1])
    check(writer.read(), trace)
    snapshot = writer.snapshot()
    figure("size_kB", len(snapshot) / 1e3)
    reader = replica()

    def load():
        reader.take_in(snapshot)
        return reader.read()

    items, milliseconds = timed(load)
    figure("load_ms", milliseconds)
    check(items, trace)


def messages(replica, figure, name, suffix):
    trace = Trace(name)
    writers = [replica(number) for number in range(trace.people)]
    known = [set() for _ in writers]
    sent = []
    for number, author in enumerate(trace.authors):
        news, queue = set(), list(trace.parents[number])
        while queue:
            parent = queue.pop()
            if parent not in known[author] and parent not in news:
                news.add(parent)
                queue += trace.parents[parent]
        for parent in sorted(news):
            writers[author].take_in(sent[parent])
        known[author] |= news | {number}
        sent.append(writers[author].message_of(trace.patches[number]))
    reader = replica()
    _, milliseconds = timed(lambda: [reader.take_in(message) for message in sent])
    figure("messages" + suffix + "_ms", milliseconds)
    figure("message" + suffix + "_B", sum(map(len, sent)) / len(sent))
    check(reader.read(), trace)


def main():
    name, workload = sys.argv[1:3]
    if workload != "W8":
        sys.exit(f"no such workload: {workload}")

    def figure(metric, value):
        print(workload, name, metric, f"{value:.6g}", sep="\t", flush=True)

    if name == "loop":
        walk(figure)
        return
    replica = {
        "loro-list": LoroListReplica,
        "loro-text": LoroReplica,
        "yrs-text": YrsReplica,
    }[name]
    typing(replica, figure, one_commit=name != "yrs-text")
    messages(replica, figure, "friendsforever", "")
    messages(replica, figure, "clownschool", "_clownschool")


main()
