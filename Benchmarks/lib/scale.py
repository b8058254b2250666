"""How things grow: which curves are measured, what is read off them, and their plots."""

import plot
from plot import Panel

SIZES = [10_000, 100_000, 1_000_000]
FULL = [10_000_000]
# In this order, each a process of its own on what the one before left.
STEPS = [
    "scale-load",
    "scale-publish",
    *["scale-open"] * 3,
    "scale-scan",
    "scale-read",
    "scale-commit",
    "scale-poll",
    "scale-compact",
    "scale-bootstrap",
]
WARM = {"scale-open", "scale-scan", "scale-read", "scale-commit"}
# An app's own reads keep what they touch, up to Options.cacheBytes.
READS = {"scale-scan", "scale-read"}
CURVES = ["scale", "devices", "datastores", "year", "group", "readers"]


def line(curves, workload, metric):
    return curves.get(workload, {}).get(metric, [])


def at(curves, workload, metric, place):
    return dict(map(tuple, line(curves, workload, metric))).get(place)


def growth(points, first, last):
    """How many times the mean of some of the last points is that of some of the first."""
    begin = [y for x, y in points if first[0] <= x <= first[1]]
    end = [y for x, y in points if last[0] <= x <= last[1]]
    if not begin or not end or not sum(begin):
        return None
    return (sum(end) / len(end)) / (sum(begin) / len(begin))


def from_least_to_most(points):
    if not points:
        return None
    top = max(x for x, _ in points)
    return growth(points, (SIZES[0], SIZES[0]), (top, top))


def figures(curves):
    """(workload, metric, value) that follow from curves."""
    found = []
    flat = [("open", "us"), ("commit", "us"), ("poll", "us"), ("read", "near_ns"), ("any_read", "ns")]
    for name, metric in flat:
        points = line(curves, "scale-" + name.removeprefix("any_"), metric)
        found.append(("scale", name + "_growth", from_least_to_most(points)))
    # What should be linear: of each record.
    for step, metric in [("load", "seconds"), ("scan", "first_ms"), ("compact", "seconds")]:
        points = [(x, y / x) for x, y in line(curves, "scale-" + step, metric)]
        found.append(("scale", step + "_growth", from_least_to_most(points)))
    sizes = [x for x, _ in line(curves, "scale-bootstrap", "peak_MB")]
    if sizes:
        found.append(("scale", "records", max(sizes)))
    steps = set(STEPS) - READS
    peaks = [y for step in steps for _, y in line(curves, step, "peak_MB")]
    if peaks:
        found.append(("scale", "peak_MB", max(peaks)))
    boot = line(curves, "scale-bootstrap", "peak_MB")
    if boot:
        found.append(("scale", "bootstrap_peak_MB", max(y for _, y in boot)))
    for metric in ["requests", "kB", "ms"]:
        # The first month is left out: files and snapshots have yet to become what they will be.
        value = growth(line(curves, "year", metric), (29, 84), (309, 364))
        found.append(("year", metric + "_growth", value))
    for metric in ["idle_requests", "fetch_requests"]:
        found.append(("devices", metric, at(curves, "devices", metric, 100)))
    listing = "refresh_requests"
    found.append(("datastores", listing, at(curves, "datastores", listing, 1000)))
    return [(w, m, v) for w, m, v in found if v is not None]


def scaled(points, factor):
    return [(x, y * factor) for x, y in points]


def scale_panels(c):
    records = "records in the datastore"
    flat = [
        ("open + first read", line(c, "scale-open", "us")),
        ("durable commit", line(c, "scale-commit", "us")),
        ("look at an idle folder", line(c, "scale-poll", "us")),
        ("read, 10,000 neighbours", scaled(line(c, "scale-read", "near_ns"), 1e-3)),
        ("read, any record", scaled(line(c, "scale-read", "ns"), 1e-3)),
    ]
    linear = [
        ("load", line(c, "scale-load", "seconds")),
        ("publish", line(c, "scale-publish", "seconds")),
        ("first scan", scaled(line(c, "scale-scan", "first_ms"), 1e-3)),
        ("scan again", scaled(line(c, "scale-scan", "ms"), 1e-3)),
        ("compaction", line(c, "scale-compact", "seconds")),
        ("new device", line(c, "scale-bootstrap", "seconds")),
    ]
    names = {
        "load": "load",
        "publish": "publish",
        "compact": "compaction",
        "bootstrap": "new device",
        "commit": "commits",
        "open": "open",
        "scan": "scan",
    }
    memory = [(name, line(c, "scale-" + step, "peak_MB")) for step, name in names.items()]
    return [
        Panel("What should stay flat", records, "microseconds", flat, True, True),
        Panel("What should grow with the records", records, "seconds", linear, True, True),
        Panel("Peak memory of each process", records, "MB", memory, True, False),
    ]


def device_panels(c):
    def lines(suffix):
        kinds = {
            "idle": "nothing happened",
            "publish": "publish one change",
            "fetch": "one other changed",
            "all": "all others changed",
            "join": "a new device",
        }
        return [(name, line(c, "devices", f"{kind}_{suffix}")) for kind, name in kinds.items()]

    across = "devices in one datastore"
    ticks = [1, 2, 5, 10, 20, 50, 100]
    return [
        Panel("Requests of an exchange", across, "requests", lines("requests"), True, True, ticks),
        Panel("Bytes of an exchange", across, "kB", lines("kB"), True, True, ticks),
        Panel("Time, folder in memory", across, "microseconds", lines("us"), True, True, ticks),
    ]


def datastore_panels(c):
    def of(metric, factor=1):
        return scaled(line(c, "datastores", metric), factor)

    across = "datastores in the account"
    times = [
        ("create and publish one", of("create_ms")),
        ("open one", of("open_us", 1e-3)),
        ("look at the idle list", of("refresh_us", 1e-3)),
        ("make the list", of("list_ms")),
        ("new device hears of all", of("join_ms")),
    ]
    costs = [
        ("requests of a look at the list", of("refresh_requests")),
        ("requests of a new device", of("join_requests")),
        ("kB for a new device", of("join_kB")),
    ]
    memory = [("an open datastore", of("memory_kB"))]
    return [
        Panel("Time, folder in memory", across, "milliseconds", times, True, True),
        Panel("What is asked of the folder", across, "requests, kB", costs, True, True),
        Panel("Memory, the program itself among it", across, "kB a datastore", memory, True, True),
    ]


def year_panels(c):
    def of(metric):
        return line(c, "year", metric)

    across = "day"
    ticks = [0, 60, 120, 180, 240, 300, 360]
    join = [("time (ms)", of("join_ms")), ("requests", of("join_requests")), ("kB", of("join_kB"))]
    return [
        Panel(
            "Requests of a sync",
            across,
            "requests",
            [("mean of a week", of("requests")), ("99th percentile", of("p99_requests"))],
            ticks_x=ticks,
        ),
        Panel(
            "Bytes of a sync",
            across,
            "kB, both ways",
            [("mean", of("kB")), ("of these, heads", of("head_kB"))],
            ticks_x=ticks,
        ),
        Panel(
            "Time of a sync, folder in memory",
            across,
            "milliseconds",
            [("mean", of("ms")), ("99th percentile", of("p99_ms"))],
            ticks_x=ticks,
        ),
        Panel("The folder", across, "files, kB", [
            ("files", of("files")), ("kB", of("folder_kB")),
        ], log_y=True, ticks_x=ticks),
        Panel("A new device", across, "ms, requests, kB", join, log_y=True, ticks_x=ticks),
    ]


def reader_panels(c):
    names = {
        "alone": "nothing else",
        "other": "another store commits and compacts",
        "same": "this store commits and compacts",
    }

    def tail(points):
        # 1 in how many is slower; the slowest of all stands at the end.
        return [(1 / (1 - x / 100) if x < 100 else 1e5, y) for x, y in points]

    lines = [(name, tail(line(c, "readers", key + "_us"))) for key, name in names.items()]
    across = "one read in so many takes longer (the last point: the slowest of all)"
    return [Panel("Time of a read", across, "microseconds", lines, True, True)]


def group_panels(c):
    lines = [
        ("durable commits", line(c, "group", "commits_per_s")),
        ("bare write + fdatasync", line(c, "group", "raw_per_s")),
    ]
    across = "threads"
    ticks = [1, 2, 4, 8]
    return [Panel("Commits by several threads", across, "a second", lines, True, False, ticks)]


PLOTS = {
    "scale": ("One datastore, more and more records", scale_panels),
    "devices": ("One datastore, more and more devices", device_panels),
    "datastores": ("One account, more and more datastores", datastore_panels),
    "year": ("A year: 10 devices, 50 syncs a day", year_panels),
    "readers": ("Reads beside a writer", reader_panels),
    "group": ("Group commit", group_panels),
}


def write_plots(curves, directory):
    for name, (title, panels) in PLOTS.items():
        plot.write(directory / f"{name}.svg", title, panels(curves))
