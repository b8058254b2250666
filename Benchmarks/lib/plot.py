"""Line charts as SVG, with nothing but Python's own library.

A figure is a title and panels side by side; a panel has axes with units, a legend, and lines of
(x, y) points, with points marked. An axis is linear or logarithmic.
"""

import math
from html import escape

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
DASHES = ["", "7 3", "2 3", "8 3 2 3", "12 3", "4 4", "1 2"]
WIDTH, HEIGHT = 470, 360  # of a panel
LEFT, RIGHT, BOTTOM = 66, 20, 52
TEXT = 'font-family="Helvetica, Arial, sans-serif" fill="#222"'


class Panel:
    """lines: [(name, [(x, y), ...]), ...]. A linear axis of values begins at zero."""

    def __init__(self, title, x, y, lines, log_x=False, log_y=False, ticks_x=None):
        self.title, self.x, self.y = title, x, y
        self.log_x, self.log_y, self.ticks_x = log_x, log_y, ticks_x
        # Each keeps the number of its colour, whether the ones before it have points or not.
        shown = [(number, name, self.shown(line)) for number, (name, line) in enumerate(lines)]
        self.lines = [line for line in shown if line[2]]

    def shown(self, points):
        """A logarithmic axis has no place for zero."""
        fits = lambda x, y: (x > 0 or not self.log_x) and (y > 0 or not self.log_y)
        return [(x, y) for x, y in points if fits(x, y)]

    def values(self, place):
        return [point[place] for _, _, points in self.lines for point in points]


def short(value):
    """12000 as 12k, with no more digits than needed."""
    for limit, unit in [(1e9, "G"), (1e6, "M"), (1e4, "k")]:
        if abs(value) >= limit:
            scale = 1e3 if unit == "k" else limit
            return f"{value / scale:g}{unit}"
    return f"{value:g}"


class Axis:
    def __init__(self, values, log, start, end, from_zero, ticks=None):
        self.log, self.start, self.end = log, start, end
        low, high = min(values), max(values)
        if log:
            low = max(low, 1e-9)
            self.ticks = ticks or log_ticks(low, high)
            self.low, self.high = min(low, self.ticks[0]), max(high, self.ticks[-1])
            if self.low == self.high:
                self.low, self.high = low / 2, high * 2
        else:
            low = 0 if from_zero else low
            self.ticks = ticks or linear_ticks(low, high)
            self.low, self.high = min(low, self.ticks[0]), max(high, self.ticks[-1])

    def place(self, value):
        if self.log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low or 1)
        return self.start + part * (self.end - self.start)


def log_ticks(low, high):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = [1] if last - first > 3 else [1, 2, 5]
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    under = [tick for tick in ticks if tick <= low]
    over = [tick for tick in ticks if tick >= high]
    return [tick for tick in ticks if under[-1] <= tick <= over[0]]


def linear_ticks(low, high):
    span = (high - low) or 1
    step = 10 ** math.floor(math.log10(span / 4))
    step *= next(factor for factor in [1, 2, 5, 10] if span / (step * factor) <= 6)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(step * i, 10) for i in range(first, last + 1)]


def text(x, y, words, size=12, anchor="start", extra=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {TEXT}'
        f"{extra}>{escape(words)}</text>"
    )


def legend(panel, left, top):
    """The entries, and how far down they go."""
    parts, x, y = [], left, top
    for number, name, _ in panel.lines:
        width = 34 + 6.3 * len(name)
        if x > left and x + width > left + WIDTH - LEFT - RIGHT:
            x, y = left, y + 17
        parts.append(stroke(number, f"M{x:.1f} {y - 4:.1f}h20"))
        parts.append(mark(number, x + 10, y - 4))
        parts.append(text(x + 25, y, name, 11.5))
        x += width + 8
    return parts, y


def stroke(number, path):
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'


def mark(number, x, y):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[number % len(COLOURS)]}"/>'


def draw(panel, left, top):
    parts = [text(left + LEFT, top + 16, panel.title, 13.5, extra=' font-weight="bold"')]
    entries, y = legend(panel, left + LEFT, top + 36)
    parts += entries
    x0, x1, y0, y1 = left + LEFT, left + WIDTH - RIGHT, top + HEIGHT - BOTTOM, y + 16
    across = Axis(panel.values(0), panel.log_x, x0, x1, False, panel.ticks_x)
    up = Axis(panel.values(1), panel.log_y, y0, y1, True)
    for tick in up.ticks:
        place = up.place(tick)
        parts.append(f'<path d="M{x0} {place:.1f}H{x1}" stroke="#ddd"/>')
        parts.append(text(x0 - 7, place + 4, short(tick), 11, "end"))
    for tick in across.ticks:
        place = across.place(tick)
        parts.append(f'<path d="M{place:.1f} {y0}v5" stroke="#555"/>')
        label = f"{tick:g}" if panel.ticks_x and not panel.log_x else short(tick)
        parts.append(text(place, y0 + 19, label, 11, "middle"))
    parts.append(f'<path d="M{x0} {y1}V{y0}H{x1}" fill="none" stroke="#555"/>')
    parts.append(text((x0 + x1) / 2, y0 + 40, panel.x, 12, "middle"))
    x, y = left + 16, (y0 + y1) / 2
    parts.append(text(x, y, panel.y, 12, "middle", f' transform="rotate(-90 {x:.1f} {y:.1f})"'))
    for number, _, points in panel.lines:
        places = [(across.place(x), up.place(y)) for x, y in sorted(points)]
        parts.append(stroke(number, "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)))
        if len(places) <= 16:
            parts += [mark(number, x, y) for x, y in places]
    return parts


def write(path, title, panels, columns=2):
    """Draws the panels that have lines; removes the file if none has."""
    panels = [panel for panel in panels if panel.lines]
    if not panels:
        path.unlink(missing_ok=True)
        return
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    width, height = columns * WIDTH, 34 + rows * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        text(16, 24, title, 16, extra=' font-weight="bold"'),
    ]
    for number, panel in enumerate(panels):
        parts += draw(panel, number % columns * WIDTH, 34 + number // columns * HEIGHT)
    path.write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")
