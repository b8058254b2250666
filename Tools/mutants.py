"""What `Tools/mutate` changes: conditions that are turned around, and statements that are left out."""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent

CALL = re.compile(r"(try )?(await )?(_ = )?(try )?[A-Za-z_][\w.?!]*(\[[^\]]*\][\w.?!]*)*\(.*\)$")
ASSIGNMENT = re.compile(
    r"([A-Za-z_][\w.?!]*(?:\[[^=]*\][\w.?!]*)*) (?:[-+*|&^]|&[-+*]|<<|>>)?= [^=]*$")
# What ends the process, or what a statement is that has to be there.
NEVER = re.compile(r"(fatalError|preconditionFailure|super\.init|self\.init|precondition|assert)\b")
# What a statement does not begin with, if it is a call; or if it is an assignment.
NO_CALL = re.compile(
    r"(if|guard|for|while|switch|return|let|var|case|throw|catch|func|defer|else|self|private|package"
    r"|public|internal|static)\b")
NO_ASSIGNMENT = re.compile(
    r"(let|var|if|guard|for|while|case|return|static|private|package|public|internal|typealias|@)\b")
# A body of which nobody asks for the value of its one line.
BODY = re.compile(r"\s*(if|for|while|guard|defer|\} else|else|do|\} catch)\b")
# A line that a statement can follow.
BEFORE = re.compile(r"([{})\]\w\"'?!>]|\bin)$")
# One that goes on.
GOES_ON = re.compile(r"^([.?:&|+\-*/,=<>)\]]|\?\?|else\b|catch\b)")


def masked(text):
    """The text without comments, what strings say and what is only for macOS, in its length."""
    def blank(match):
        return re.sub(r"[^\n]", " " if match.group().startswith("/") else '"', match.group())
    text = re.sub(r'//[^\n]*|"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"', blank, text)
    lines, active = [], [True]
    for line in text.split("\n"):
        word = line.strip()
        if word.startswith("#if"):
            active.append(not re.search(r"canImport\(Darwin\)|CAIRN_|os\(macOS\)", word))
        elif word.startswith(("#else", "#elseif")):
            active[-1] = not active[-1]
        elif word.startswith("#endif"):
            active.pop()
        elif all(active):
            lines.append(line)
            continue
        lines.append(" " * len(line))
    return "\n".join(lines)


def clauses(text, start, is_guard):
    """The clauses of the condition that begins there: (start, end) of each."""
    depth, begin, found = 0, start, []
    place = start
    while place < len(text):
        letter = text[place]
        ends = depth == 0 and (
            re.match(r"else\b", text[place:place + 5]) and not text[place - 1].isalnum()
            if is_guard else letter == "{")
        if ends or (letter == "," and depth == 0):
            found.append((begin, place))
            if ends:
                return found
            begin = place + 1
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth < 0:
                return []
        place += 1
    return []


class Mutant:
    """Where it is, what is there, and its number from 1 on among all of its kind and of its modules."""

    def __init__(self, number, path, start, end, text, is_statement):
        self.number, self.path, self.start, self.end = number, path, start, end
        self.is_statement = is_statement
        self.module = path.parts[1]
        self.line = text.count("\n", 0, start) + 1
        self.place = f"{path}:{self.line}"
        self.text = " ".join(text[start:end].split())


def conditions(mask):
    for match in re.finditer(r"(?<![\w#.`])(if|guard)\b", mask):
        for start, end in clauses(mask, match.end(), match.group() == "guard"):
            while mask[start].isspace():
                start += 1
            while mask[end - 1].isspace():
                end -= 1
            if not re.match(r"(let|var|case)\b|#", mask[start:end]):
                yield start, end


def statements(mask):
    """Calls and assignments that are a line each, but for those whose value is what a closure or a
    function gives, and what an initializer has to set."""
    lines = mask.split("\n")
    place = 0
    initializer, late = None, set()
    for number, line in enumerate(lines):
        word = line.strip()
        indent = len(line) - len(line.lstrip())
        begin, place = place + indent, place + len(line) + 1
        if not word:
            continue
        before = next((old for old in reversed(lines[max(0, number - 6):number]) if old.strip()), "")
        after = next((new for new in lines[number + 1:number + 7] if new.strip()), "").strip()
        if initializer is not None and word == "}" and indent <= initializer:
            initializer = None
        if re.match(r"([a-z]+ )*init[?(<]", word) and not (
                word.endswith("}") and word.count("{") == word.count("}")):
            initializer = indent
        declared = re.match(r"(?:let|var) (\w+)(: [^={]+)?(, .*)?$", word)
        if declared:
            late.add(declared[1])
        if re.match(r"([a-z]+(\(\w+\))? )*func ", word):
            late = set()
        assigned = ASSIGNMENT.fullmatch(word)
        is_call = CALL.fullmatch(word) and not NO_CALL.match(word)
        if assigned and (NO_ASSIGNMENT.match(word) or assigned[1] == "_"
                         or re.split(r"[.\[]", assigned[1])[0] in late):
            assigned = None
        if not (is_call or assigned) or NEVER.match(word) or initializer is not None:
            continue
        if any(word.count(a) != word.count(b) for a, b in ["()", "[]", "{}"]):
            continue
        if GOES_ON.match(after) and not after.startswith("}"):
            continue
        opens = before.rstrip()
        above = len(before) - len(before.lstrip())
        # In a closure it may be what that gives; a line that is further in may be part of another one.
        if not BEFORE.search(opens) or opens.endswith(" in") and not assigned:
            continue
        if indent > above and not opens.endswith(("{", "}", ":", " in")):
            continue
        if is_call and opens.endswith("{") and after.startswith("}"):
            if not BODY.match(opens) and not (re.search(r"\bfunc\b", opens) and "->" not in opens):
                continue
        yield begin, begin + len(word)


def all_of(modules, kind):
    """All mutants of a kind, `conditions` or `statements`."""
    result = []
    for module in modules:
        for path in sorted((PROJECT / "Sources" / module).rglob("*.swift")):
            text = path.read_text()
            mask = masked(text)
            for start, end in (conditions if kind == "conditions" else statements)(mask):
                result.append(Mutant(
                    len(result) + 1, path.relative_to(PROJECT), start, end, text,
                    kind == "statements"))
    return result
