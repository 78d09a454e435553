# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab profile --html: a page that draws what a warp's lanes access, line by line."""

from html import escape
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Tuple

from lablib import counters
from lablib.counters import Row
from lablib.errors import LabError

LANES = 32
SECTOR = 32  # bytes
WORD = 4
BANKS = 32
LINE_SHOWN = 500  # characters of a line of the source

Address = Optional[int]  # None: the lane takes no part
Words = Dict[int, List[int]]  # the lanes that access each word


def addresses(row: Row) -> List[Address]:
    """Of the row's costliest request; empty if there is none."""
    if row.worst in ("", "-"):
        return []
    try:
        found = [None if cell == "-" else int(cell) for cell in row.worst.split(" ")]
    except ValueError:
        found = []
    if len(found) != LANES:
        raise LabError(f"'{row.worst[:60]}' are not the addresses of {LANES} lanes.")
    return found


def words(requested: List[Address], size: int, lanes: Iterable[int] = range(LANES)) -> Words:
    found: Words = {}
    for lane in lanes:
        begin = requested[lane]
        if begin is None:
            continue
        for word in range(begin // WORD, (begin + max(size, 1) - 1) // WORD + 1):
            found.setdefault(word, []).append(lane)
    return found


def sectors(requested: List[Address], size: int) -> List[int]:
    return sorted({word * WORD // SECTOR for word in words(requested, size)})


def wavefronts(requested: List[Address], size: int) -> List[Tuple[range, Words, int]]:
    """The lanes that shared memory serves together: all, or a half or a quarter of the warp where
    each accesses 8 or 16 bytes; their words; and how many passes over the banks they take."""
    together = LANES if size <= WORD else LANES * WORD // size
    found = []
    for begin in range(0, LANES, together):
        lanes = range(begin, begin + together)
        wanted = words(requested, size, lanes)
        if wanted:
            found.append((lanes, wanted, max(len(of) for of in by_bank(wanted).values())))
    return found


def by_bank(wanted: Words) -> Dict[int, List[int]]:
    """The words of each bank."""
    found: Dict[int, List[int]] = {}
    for word in sorted(wanted):
        found.setdefault(word % BANKS, []).append(word)
    return found


def page(rows: Iterable[Row], title: str, folders: List[Path]) -> str:
    """The rows whose source lies in these folders."""
    all_rows = sorted(rows, key=lambda row: (row.kernel, row.file, row.line))
    own = [row for row in all_rows if row.line and _is_in(row.file, folders)]
    source: counters.Source = {}
    parts: List[str] = []
    kernel = place = None
    for row in own:
        if row.kernel != kernel:
            kernel, place = row.kernel, None
            parts.append(f"<h2>Kernel <code>{escape(kernel)}</code></h2>")
        if (row.file, row.line) != place:
            place = (row.file, row.line)
            text = escape(counters.source_line(row, source, LINE_SHOWN))
            where = escape(f"{Path(row.file).name}:{row.line}")
            parts.append(f"<h3>{where}</h3>\n<pre><code>{text}</code></pre>")
        parts.append(_access(row))
    if not own:
        parts.append("<p>No kernel of this exercise accessed global or shared memory.</p>")
    elif len(own) < len(all_rows):
        parts.append(
            f"<p>{len(all_rows) - len(own)} more accesses are in files that are not this"
            " exercise's: headers of the course or of a library. The table of"
            " <code>scripts/lab profile</code> has them.</p>"
        )
    return _PAGE.format(title=escape(title), style=_STYLE, body="\n".join(parts))


def _is_in(file: str, folders: List[Path]) -> bool:
    resolved = Path(file).resolve()
    return any(folder.resolve() in resolved.parents for folder in folders)


def _access(row: Row) -> str:
    cost = counters.cost(row) or "nothing counted"
    remarks = counters.remarks(row)
    text = [
        f'<section class="access {"notice" if remarks else "fine"}">',
        f'<div class="numbers"><p><b>{escape(row.access)}, {row.bytes} B per lane</b></p>',
        f'<p class="cost">{escape(cost)}</p>',
        "<p>per request, the best in brackets; "
        f"{row.requests:,} requests of {row.each(row.lanes):.1f} lanes</p>",
        *(f'<p class="remark">{escape(remark)}</p>' for remark in remarks),
        "</div>",
    ]
    requested = addresses(row)
    if requested:
        text.append(_figure(row, requested))
    return "\n".join([*text, "</section>"])


def _figure(row: Row, requested: List[Address]) -> str:
    shared = row.access.startswith("shared")
    if shared:
        targets = [None if a is None else a // WORD % BANKS for a in requested]
        drawing = _banks(row, requested)
    else:
        numbers = {sector: i for i, sector in enumerate(sectors(requested, row.bytes))}
        targets = [None if a is None else numbers[a // SECTOR] for a in requested]
        drawing = _sectors(row, requested)
    lanes = "".join(
        f'<li class="idle"><b>{lane}</b></li>'
        if target is None
        else f"<li><b>{lane}</b><span>{target}</span></li>"
        for lane, target in enumerate(targets)
    )
    what = "bank" if shared else "sector"
    which = f"The costliest of {row.requests:,} requests" if row.requests > 1 else "The request"
    return (
        f"<figure><figcaption>{which}: {escape(_sentence(row, requested))}</figcaption>\n"
        f'<p class="label">Lanes, and the {what} that each one accesses'
        f'{" first" if row.bytes > WORD else ""}</p>\n'
        f'<ol class="lanes">{lanes}</ol>\n{drawing}</figure>'
    )


def _sentence(row: Row, requested: List[Address]) -> str:
    wanted = words(requested, row.bytes)
    if row.access in ("shared load", "shared store"):
        parts = wavefronts(requested, row.bytes)
        passes = sum(most for _, _, most in parts)
        if passes == len(parts):
            return f"{_count(passes, 'wavefront')}. No bank has to serve two words at a time."
        bank, found = max(
            (pair for _, of, _ in parts for pair in by_bank(of).items()),
            key=lambda pair: len(pair[1]),
        )
        return f"{_count(passes, 'wavefront')}, since bank {bank} must serve {len(found)} words."
    if row.access == "shared atomic":
        bank, lanes = max(
            ((b, sum(len(wanted[w]) for w in of)) for b, of in by_bank(wanted).items()),
            key=lambda pair: pair[1],
        )
        return f"{_count(lanes, 'turn')}: that many lanes update words of bank {bank}."
    if row.access == "variable load":
        return f"{_count(len(wanted), 'different word')}."
    touched = sectors(requested, row.bytes)
    used = {a + byte for a in requested if a is not None for byte in range(row.bytes)}
    moved = len(touched) * SECTOR
    text = f"{_count(len(touched), 'sector')}, {moved} bytes, of which {len(used)} are used."
    if row.access == "global atomic":
        turns = max(len(lanes) for lanes in wanted.values())
        text = f"{_count(turns, 'turn')} at one address; " + text
    return text


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _sectors(row: Row, requested: List[Address]) -> str:
    wanted = words(requested, row.bytes)
    rows = []
    for number, sector in enumerate(sectors(requested, row.bytes)):
        cells = "".join(
            _cell(wanted.get(word, []))
            for word in range(sector * SECTOR // WORD, (sector + 1) * SECTOR // WORD)
        )
        rows.append(
            f'<li><span class="name">{number}</span><span class="offset">'
            f'+{sector * SECTOR}</span><span class="words">{cells}</span></li>'
        )
    return (
        f'<p class="label">Sectors of {SECTOR} bytes (8 words) from byte +0, and the lanes that'
        f' access each word</p>\n<ol class="sectors">{"".join(rows)}</ol>'
    )


def _banks(row: Row, requested: List[Address]) -> str:
    text = []
    for lanes, wanted, _ in wavefronts(requested, row.bytes):
        banks = by_bank(wanted)
        rows = []
        for bank in range(BANKS):
            cells = "".join(
                _cell(wanted[word], again=place > 0)
                for place, word in enumerate(banks.get(bank, []))
            )
            rows.append(
                f'<li><span class="name">{bank}</span>'
                f'<span class="words">{cells or _cell([])}</span></li>'
            )
        which = "" if len(lanes) == LANES else f" for lanes {lanes[0]} to {lanes[-1]}"
        text.append(
            f'<p class="label">Banks, and the words that each one serves{which}: a box for each'
            " word, with its lanes; one box at a time</p>\n"
            f'<ol class="banks">{"".join(rows)}</ol>'
        )
    return "\n".join(text)


def _cell(lanes: List[int], again: bool = False) -> str:
    if not lanes:
        return '<i class="unused"></i>'
    return f'<i class="{"again" if again else "used"}">{_ranges(lanes)}</i>'


def _ranges(lanes: List[int]) -> str:
    """[0, 1, 2, 5] is "0–2,5"; a few of many are "16 lanes"."""
    parts: List[List[int]] = []
    for lane in lanes:
        if parts and parts[-1][1] == lane - 1:
            parts[-1][1] = lane
        else:
            parts.append([lane, lane])
    if len(parts) > 2:
        return f"{len(lanes)} lanes"
    return ",".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


_STYLE = """\
:root { color-scheme: light dark; --text: #1c1e21; --back: #fff; --soft: #5b636d; --line: #c9ced6;
  --panel: #f5f6f8; --used: #bcdcff; --again: #ffc9a8; --notice: #9a3b00; --fine: #1a6b35; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8eb; --back: #16181c; --soft: #a3abb6; --line: #444b55;
    --panel: #20242a; --used: #1f4f80; --again: #85420f; --notice: #ffb488; --fine: #86d9a0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1rem; background: var(--back);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
h3 { font-size: 1rem; margin: 2rem 0 .25rem; }
h1, h2, h3, p { overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; }
pre { margin: 0; padding: .5rem .75rem; background: var(--panel); border: 1px solid var(--line);
  white-space: pre-wrap; overflow-wrap: anywhere; }
p { margin: .25rem 0; }
ol { list-style: none; margin: 0; padding: 0; }
.access { border-left: .3rem solid var(--fine); margin: .75rem 0; padding: 0 0 0 .75rem; }
.access.notice { border-color: var(--notice); }
.cost { font-weight: bold; color: var(--fine); }
.notice .cost, .remark { color: var(--notice); }
figure { margin: .75rem 0 0; }
.label, .offset { color: var(--soft); font-size: .8125rem; }
figcaption { font-weight: bold; }
.lanes { display: grid; grid-template-columns: repeat(8, 1fr); gap: 2px; margin-bottom: .5rem; }
.lanes li { border: 1px solid var(--line); text-align: center; font-size: .75rem;
  line-height: 1.3; }
.lanes b, .lanes span { display: block; } .lanes span { background: var(--used); }
.lanes .idle { border-style: dashed; color: var(--soft); }
.sectors { display: grid; gap: 3px 1rem; }
.sectors li { display: grid; grid-template-columns: 1.5rem 4rem 1fr; align-items: center; }
.sectors .words { display: grid; grid-template-columns: repeat(8, minmax(0, 1fr)); }
.banks { display: grid; gap: 3px 1rem; grid-template-columns: repeat(2, minmax(0, 1fr)); }
.banks li { display: grid; grid-template-columns: 1.75rem 1fr; align-items: start; }
.banks .words { display: flex; flex-wrap: wrap; }
.name { font-size: .75rem; font-weight: bold; }
i { font: .6875rem/1.6 system-ui, sans-serif; border: 1px solid var(--line); text-align: center;
  min-height: 1.25rem; overflow-wrap: anywhere; background: var(--used); }
.banks i { min-width: 2rem; padding: 0 .2rem; }
i.unused { background: none; border-style: dashed; } i.again { background: var(--again); }
@media (min-width: 60rem) {
  .access { display: grid; grid-template-columns: 20rem 1fr; gap: 1.5rem; }
  figure { margin: 0; }
  .lanes { grid-template-columns: repeat(16, 1fr); }
  .sectors { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .banks { grid-template-columns: repeat(4, minmax(0, 1fr)); }
}
"""

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>A request is one instruction for the lanes of a warp that take part. For each access of your
kernels you see the request that cost most. Global memory moves in sectors of 32 bytes: a dashed
word is moved and not used. Shared memory has 32 banks, each of which serves one word at a time:
every further box of a bank is one more pass, a wavefront. The counts are those that a GPU would
have; nothing here is a time.</p>
{body}
</main>
</body>
</html>
"""
