"""The part of the project's README about speed, written from the results alone."""

import scale

BEGIN, END = "<!-- speed:begin -->", "<!-- speed:end -->"
PEERS = {
    "leveldb": "LevelDB",
    "lmdb": "LMDB",
    "sqlite": "SQLite",
    "sqlite-intkey": "SQLite (integer key)",
    "sqlite-clock": "SQLite (clock table)",
    "rocksdb": "RocksDB",
    "grdb": "GRDB",
    "grdb-raw": "GRDB (raw SQL)",
    "loro": "Loro",
    "yrs": "Yrs",
    "loro-list": "Loro (list)",
    "loro-text": "Loro (text)",
    "yrs-text": "Yrs (text)",
    "cdb": "tinycdb",
    "csv": "CSV",
}
MONTHS = "January February March April May June July August September October November December"


def digits(value):
    """Three significant digits, with thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{float(f'{value:.3g}'):g}"


def rate(value):
    if value >= 1e6:
        return digits(value / 1e6) + " M/s"
    return digits(value) + "/s"


def microseconds(value):
    if value < 1:
        return digits(value * 1e3) + " ns"
    if value < 1e3:
        return digits(value) + " µs"
    if value < 1e6:
        return digits(value / 1e3) + " ms"
    return digits(value / 1e6) + " s"


def milliseconds(value):
    return microseconds(value * 1e3)


def nanoseconds(value):
    return microseconds(value / 1e3)


def unit(name):
    return lambda value: f"{digits(value)} {name}"


def times(value):
    return digits(value) + " ×"


ROWS = [
    ("durable commits of two fields", "W1", "commits_per_s", rate),
    ("the same: share of a bare write and sync", "W1", "share_of_raw", times),
    ("the same: time beside these", "W1", "over_raw_us", microseconds),
    ("the same: bytes written", "W1", "written_B", unit("B")),
    ("bulk load, no sync", "W2", "records_per_s", rate),
    ("bulk load, a durable commit each 1,000", "W2sync", "records_per_s", rate),
    ("100,000 records of 200 bytes on disk", "W2", "size_MB", unit("MB")),
    ("open and read one field, files cached", "W3warm", "first_read_us", microseconds),
    ("the same: memory beside that of doing nothing", "W3warm", "rss_over_base_MB", unit("MB")),
    ("the same, linked in order of use (`Tools/order`)", "W3warm", "ordered_first_read_us", microseconds),
    ("the same: memory beside that of doing nothing", "W3warm", "ordered_rss_over_base_MB", unit("MB")),
    ("open and read one field, nothing cached", "W3cold", "first_read_us", microseconds),
    ("read of a typed field by id", "W4", "ns_per_get", nanoseconds),
    ("filter of 100,000 records, integer", "W5", "int_scan_ms", milliseconds),
    ("the same, text", "W5", "string_scan_ms", milliseconds),
    ("the same, integer, with an index (994 found)", "W5", "int_indexed_ms", milliseconds),
    ("the same, text (109 found)", "W5", "string_indexed_ms", milliseconds),
    ("updates of one field, no sync", "W6", "updates_per_s", rate),
    ("take in 100,000 changes, one message", "W7", "apply_ms", milliseconds),
    ("the same, 1,000 messages", "W7", "apply_1000_ms", milliseconds),
    ("size of the one message", "W7", "message_MB", unit("MB")),
    ("type a paper as items of a list, one commit", "W8", "one_commit_ms", milliseconds),
    ("the same, a commit each keystroke", "W8", "keystrokes_ms", milliseconds),
    ("the paper, with all that merging needs", "W8", "size_kB", unit("kB")),
    ("load it and read it", "W8", "load_ms", milliseconds),
    ("take in 26,078 keystrokes of two people", "W8", "messages_ms", milliseconds),
    ("an edit of a list of 100,000, over one of 1,000", "W8", "edit_growth", times),
    ("compaction, each record overwritten ten times", "W10", "compact_ms", milliseconds),
    ("look-up in a constant database", "W11", "ns_per_get", nanoseconds),
    ("commits of four threads, over those of one", "group", "times_4", times),
    ("look at an idle folder, with most records over that with 10,000", "scale", "poll_growth", times),
    ("bytes of a sync, end of a year over its beginning", "year", "kB_growth", times),
    ("one changed field: message of its own", "bytes", "message_B", unit("B")),
    ("one changed field, 1,000 in a message", "bytes", "batch_B", unit("B")),
    ("quiet datastore, 100,000 records", "bytes", "snapshot_MB", unit("MB")),
]

def seconds(value):
    return microseconds(value * 1e6)


SIZES = [
    ("open and read one field", "scale-open", "us", microseconds),
    ("durable commit", "scale-commit", "us", microseconds),
    ("look at an idle folder", "scale-poll", "us", microseconds),
    ("read, among 10,000 neighbours", "scale-read", "near_ns", nanoseconds),
    ("read, any record", "scale-read", "ns", nanoseconds),
    ("load", "scale-load", "seconds", seconds),
    ("filter, the second one", "scale-scan", "ms", milliseconds),
    ("compaction", "scale-compact", "seconds", seconds),
    ("new device, from the snapshot", "scale-bootstrap", "seconds", seconds),
    ("its peak memory", "scale-bootstrap", "peak_MB", unit("MB")),
    ("peak memory of the load", "scale-load", "peak_MB", unit("MB")),
    ("peak memory of the compaction", "scale-compact", "peak_MB", unit("MB")),
]


def day(date):
    year, month, number = map(int, date.split("-"))
    return f"{number} {MONTHS.split()[month - 1]} {year}"


def dates(rows):
    found = sorted({row["date"] for row in rows})
    if not found:
        return "never"
    return day(found[0]) if len(found) == 1 else f"{day(found[0])} to {day(found[-1])}"


def table(rows):
    known = {(row["workload"], row["metric"]): row for row in rows}
    lines = ["| what | Cairn | best peer | ratio | goal | reached |", "|---|--:|--:|--:|--:|---|"]
    for what, workload, metric, form in ROWS:
        row = known.get((workload, metric))
        if not row or row["ours"] is None:
            continue
        peer = "–"
        if row["peer"]:
            peer = f"{PEERS.get(row['peer'], row['peer'])} {form(row['peer_value'])}"
        ratio = "–" if row["ratio"] is None else digits(float(f"{row['ratio']:.2g}"))
        goal = "–" if row["goal"] is None else form(row["goal"])
        reached = {True: "yes", False: "no", None: "–"}[row["goal_met"]]
        lines.append(f"| {what} | {form(row['ours'])} | {peer} | {ratio} | {goal} | {reached} |")
    return lines if len(lines) > 2 else []


def size_table(curves):
    sizes = sorted({x for _, step, metric, _ in SIZES for x, _ in scale.line(curves, step, metric)})
    if not sizes:
        return []
    head = " | ".join(f"{size:,.0f}" for size in sizes)
    lines = [f"| records in one datastore | {head} |", "|---|" + "--:|" * len(sizes)]
    for what, step, metric, form in SIZES:
        cells = [scale.at(curves, step, metric, size) for size in sizes]
        shown = " | ".join("–" if cell is None else form(cell) for cell in cells)
        lines.append(f"| {what} | {shown} |")
    return lines


def mean(points, first, last):
    values = [y for x, y in points if first <= x <= last]
    return sum(values) / len(values) if values else None


def sentences(rows, curves):
    """What needs more than a cell. One whose figures are missing is left out."""
    known = {(row["workload"], row["metric"]): row["ours"] for row in rows}

    def at(workload, metric, place):
        return scale.at(curves, workload, metric, place)

    def year(metric, first, last):
        return mean(scale.line(curves, "year", metric), first, last)

    def joins(metric):
        return [scale.at(curves, "year", metric, place) for place in (28, 364)]

    def whole(value):
        return digits(round(value, 1))

    def counted(value, what):
        return f"{whole(value)} {what}" + ("" if value == 1 else "s")

    yield (
        [
            *(year("requests", *days) for days in [(29, 84), (309, 364)]),
            *(year("kB", *days) for days in [(29, 84), (309, 364)]),
            *joins("join_requests"),
            *joins("join_kB"),
        ],
        lambda a, b, c, d, e, f, g, h: (
            "A year of ten devices with fifty syncs a day among them: a sync takes "
            f"{whole(a)} requests and {whole(c)} kB both ways in the second and third month, "
            f"{whole(b)} and {whole(d)} kB in the last two. A device that is new after four weeks "
            f"needs {whole(e)} requests and {digits(g)} kB, after the year {whole(f)} and "
            f"{digits(h)} kB."
        ),
    )
    yield (
        [at("devices", metric, place) for metric in ("idle_requests", "fetch_requests")
         for place in (2, 100)],
        lambda a, b, c, d: (
            f"Among 2 devices a look at a quiet folder takes {counted(a, 'request')}, and "
            f"{counted(c, 'request')} when one other has changed a record; among 100, {whole(b)} "
            f"and {whole(d)}."
        ),
    )
    yield (
        [at("datastores", metric, 1000) for metric in ("refresh_requests", "join_requests")]
        + [at("datastores", "open_us", place) for place in (1, 1000)],
        lambda a, b, c, d: (
            f"In an account of 1,000 datastores a look at its list takes {counted(a, 'request')}, "
            f"a new device knows them all after {counted(b, 'request')}, and opening one takes "
            f"{microseconds(d)}, where it is {microseconds(c)} with a single one."
        ),
    )
    phases = ("alone", "other", "same")
    yield (
        [known.get(("readers", f"{phase}_p999_us")) for phase in phases]
        + [known.get(("readers", f"{phase}_p50_us")) for phase in phases],
        lambda a, b, c, d, e, f: (
            "Of reads that are due every 20 µs, one in a thousand takes longer than "
            f"{microseconds(a)} when nothing else happens, {microseconds(b)} beside another "
            f"datastore that commits and compacts all the time, and {microseconds(c)} when that "
            f"is their own; half of them take longer than {microseconds(d)}, {microseconds(e)} "
            f"and {microseconds(f)}."
        ),
    )
    yield (
        [known.get(("group", f"times_{threads}")) for threads in (2, 4, 8)],
        lambda a, b, c: (
            f"Two, four and eight threads that commit durably make {digits(a)}, {digits(b)} and "
            f"{digits(c)} times as many commits as one: those that wait share a sync of the disk."
        ),
    )


def list_of_plots(curves):
    names = [name for name, (_, panels) in scale.PLOTS.items() if any(
        panel.lines for panel in panels(curves))]
    return ", ".join(f"[{name}](Benchmarks/results/{name}.svg)" for name in names)


def wrapped(words, indent=""):
    lines, line = [], ""
    for word in words.split():
        if line and len(line) + 1 + len(word) > 100:
            lines.append(line)
            line = indent
        line += (" " if line.strip() else "") + word
    return [*lines, line]


def section(results):
    rows, curves = results["rows"], results["curves"]
    rounds = [row.get("rounds", 0) for row in rows if row.get("rounds")]
    turns = f"{max(rounds)} rounds" if rounds else "the rounds"
    lines = wrapped(
        f"Measured {dates(rows)} on a virtual machine ({results['machine']}): medians of {turns} "
        "of `Benchmarks/run`, one of what grows (the list of sizes, and all below it); the ratio is that to the best peer in the same round, above 1 "
        "where Cairn is better. This part is written by that program from "
        "`Benchmarks/results/latest.json`, which has every figure."
    )
    lines += ["", *table(rows)]
    by_size = size_table(curves)
    if by_size:
        lines += ["", *by_size]
    found = [form(*values) for values, form in sentences(rows, curves) if None not in values]
    if found:
        lines.append("")
        for sentence in found:
            lines += wrapped("- " + sentence, "  ")
    plots = list_of_plots(curves)
    if plots:
        lines += ["", *wrapped(f"Plots: {plots}.")]
    return "\n".join(lines)


def replaced(readme, results):
    """The page with the part between the marks as the results have it."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{section(results)}\n{END}{after}"
