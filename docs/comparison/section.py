#!/usr/bin/env python3
"""Writes the tables of compressors.md from results.json: `section.py [--check]`.

Each table is between `<!-- begin: comparison of NAME -->` and `<!-- end -->`. The text around them is written by hand.
`--check` writes nothing and fails if a table does not agree with the results. It needs only Python 3.11.
"""

import argparse
import difflib
import json
import math
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHAPTER = HERE.parent / "compressors.md"
# The names of the ways in the heads of tables.
WAYS = {
    "lossless": "exact",
    "codes, zstd": "codes",
    "codes, shuffled": "codes s",
    "codes, pcodec": "codes p",
    "predicted, shuffled": "pred. s",
    "predicted, any": "pred. p",
    "steps, shuffled": "steps s",
    "bits, zstd": "bits",
    "bits, shuffled": "bits s",
    "FixedScaleOffset": "FSO",
    "Quantize": "Quantize",
    "ZFP": "ZFP",
    "SZ3": "SZ3",
}
# Ways with their own values. Compressing their codes or bits does not change the values.
DISTINCT = {
    "codes, zstd": "codes",
    "steps, shuffled": "steps",
    "bits, zstd": "bits",
    "FixedScaleOffset": "FSO",
    "Quantize": "Quantize",
    "ZFP": "ZFP",
    "SZ3": "SZ3",
}
LEVELS = {0.01: "1e-2", 0.001: "1e-3", 0.0001: "1e-4"}
MIDDLE = 0.001
Row = dict[str, Any]


class Results:
    """The measurements, by field, level and way."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.fields = {field["name"]: field for field in document["fields"]}
        rows = [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]
        self.rows = {(row["field"], row["level"], row["way"]): row for row in rows}
        # The last four are the synthetic ones.
        self.real = list(self.fields)[:-4]

    def row(self, field: str, level: float, way: str) -> Row:
        """Returns one measurement."""
        return self.rows[field, level, way]

    def ratio(self, field: str, level: float, way: str) -> float:
        """Returns the size of the floats divided by the compressed size."""
        return float(self.fields[field]["bytes"]) / float(self.row(field, level, way)["bytes"])

    def of_way(self, way: str, level: float, fields: Iterable[str] | None = None) -> list[Row]:
        """Returns the measurements of a way on all fields, or on some."""
        return [self.row(field, level, way) for field in fields or self.fields]


def table(head: Iterable[str], rows: Iterable[Iterable[str]], texts: int = 1) -> str:
    """Returns a Markdown table. Its first columns are text, the others numbers."""
    head = list(head)
    lines = [head, ["---"] * texts + ["---:"] * (len(head) - texts), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figures(value: float | None, digits: int = 3) -> str:
    """Formats a number with some significant digits, without an exponent."""
    if value is None:
        return "-"
    decimals = 0 if value == 0 else max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def greatest_bold(values: list[float]) -> list[str]:
    """Returns a row with its largest number in bold, and text unchanged."""
    shown = [figures(value) for value in values]
    return [f"**{text}**" if text == figures(max(values)) else text for text in shown]


def fields_table(results: Results) -> str:
    """Returns the origin and the contents of each field."""
    rows = [
        [
            name,
            field["source"],
            " x ".join(map(str, field["shape"])),
            f"{field['least']:g} to {field['greatest']:g}",
            f"{100 * field['missing']:.0f} %" if field["missing"] else "",
            f"{100 * field['zeros']:.0f} %" if field["zeros"] > 0.001 else "",
        ]
        for name, field in results.fields.items()
    ]
    return table(["field", "file, variable", "shape", "values", "NaN", "zeros"], rows, 4)


def bytes_tables(results: Results) -> str:
    """Returns the compression ratios, one table per error."""
    parts = []
    for level, text in LEVELS.items():
        rows = [[field, *greatest_bold([results.ratio(field, level, way) for way in WAYS])] for field in results.fields]
        means = [statistics.geometric_mean(results.ratio(field, level, way) for field in results.real) for way in WAYS]
        rows.insert(len(results.real), ["*mean of the real ones*", *greatest_bold(means)])
        parts += [f"Greatest error {text} of the range:", table(["field", *WAYS.values()], rows)]
    return "\n\n".join(parts)


def smallest(results: Results) -> str:
    """Returns how often each way is the smallest, among all and among those that the program writes."""
    cases = [(field, level) for field in results.fields for level in LEVELS]
    sentences = []
    for text, ways in (
        ("Of all", list(WAYS)),
        ("Without ZFP and SZ3", [way for way in WAYS if way not in ("ZFP", "SZ3")]),
    ):
        count = Counter(min(ways, key=lambda way: results.row(*case, way)["bytes"]) for case in cases)
        counts = ", ".join(f"{WAYS[way]} {number}" for way, number in count.most_common())
        sentences.append(f"{text}, the smallest in {len(cases)} cases: {counts}.")
    return "\n".join(sentences)


def agreement(results: Results) -> str:
    """Returns the difference between the sizes of BitRound and of `--keep-bits`."""
    pairs = [
        (results.row(field, level, "bits, zstd"), results.row(field, level, "BitRound"))
        for field in results.fields
        for level in LEVELS
    ]
    most = max(abs(one["bytes"] - other["bytes"]) / other["bytes"] for one, other in pairs)
    return (
        f"In all {len(pairs)} cases the values of numcodecs' `BitRound` and of `--keep-bits` are the same, and the\n"
        f"bytes that Zstandard makes of them differ by {100 * most:.1f} % at most: `BitRound` has no column of its own."
    )


def share(rows: list[Row], measure: str, least: float) -> str:
    """Returns the number of fields with a measure of at least this."""
    return str(sum(row[measure] is None or row[measure] >= least for row in rows))


def quality_table(results: Results) -> str:
    """Returns a line per way: the median or the worst of all fields, and how many pass."""
    with_zeros = [name for name, field in results.fields.items() if field["zeros"] > 0.001]
    rows = []
    for way, text in DISTINCT.items():
        all_rows = results.of_way(way, MIDDLE)
        counts = [
            ", ".join(share(results.of_way(way, level), measure, least) for level in LEVELS)
            for measure, least in (("dssim", 0.995), ("ks_p", 0.05))
        ]
        zeros = min(row["zeros_kept"] for row in results.of_way(way, MIDDLE, with_zeros))
        rows.append(
            [
                text,
                figures(statistics.median(row["error"] for row in all_rows), 2),
                figures(statistics.median(math.inf if row["psnr"] is None else row["psnr"] for row in all_rows)),
                f"{max(abs(row['bias']) for row in all_rows):.3f}",
                f"{max(1 - row['pearson'] for row in all_rows):.1e}",
                f"{100 * statistics.median(row['relative_error_share'] for row in all_rows):.0f} %",
                *counts,
                f"{100 * zeros:.4g} %",
                f"{100 * min(row['signs_kept'] for row in all_rows):.1f} %",
            ]
        )
    head = ["way", "error", "PSNR", "bias", "1 - r", "rel. > 1e-4", "DSSIM", "KS", "zeros", "signs"]
    return table(head, rows)


def by_field(results: Results, measure: str, show: Callable[[Any], str], fields: Iterable[str]) -> str:
    """Returns one measure of each field and way, at the middle error."""
    rows = [[field, *(show(results.row(field, MIDDLE, way)[measure]) for way in DISTINCT)] for field in fields]
    return table(["field", *DISTINCT.values()], rows)


def dssim_table(results: Results) -> str:
    """Returns the table of the smallest DSSIM of all levels."""
    return by_field(results, "dssim", lambda value: f"{math.floor(value * 1e4) / 1e4:.4f}", results.fields)


def psnr_table(results: Results) -> str:
    """Returns the table of the peak signal-to-noise ratio."""
    return by_field(results, "psnr", lambda value: "exact" if value is None else f"{value:.1f}", results.fields)


def zeros_table(results: Results) -> str:
    """Returns the share of zeros that are kept, for the fields with zeros."""
    with_zeros = [name for name, field in results.fields.items() if field["zeros"] > 0.001]
    return by_field(results, "zeros_kept", lambda value: f"{math.floor(value * 1e4) / 100:g} %", with_zeros)


def speed_table(results: Results) -> str:
    """Returns MB/s of floats: all small fields together, and the large field with one thread and with two."""
    total = sum(results.fields[field]["bytes"] for field in results.real)
    large = {(way, threads): times for way, threads, *times in results.document["large"]}
    large_bytes = results.document["large_bytes"]
    rows = []
    for way, text in (WAYS | {"BitRound": "BitRound"}).items():
        real = results.of_way(way, MIDDLE, results.real)
        line = [text, figures(large_bytes / large[way, 1][0])]
        line += [f"{total / 1e6 / sum(row[name] for row in real):.0f}" for name in ("encode_seconds", "decode_seconds")]
        for threads in (1, 2):
            times = large.get((way, threads))
            line += [f"{large_bytes / 1e6 / seconds:.0f}" for seconds in times[1:]] if times else ["", ""]
        rows.append(line)
    head = ["way", "ratio, large", "real: enc.", "dec.", "large: enc.", "dec.", "2 threads: enc.", "dec."]
    return table(head, rows)


def versions(results: Results) -> str:
    """Returns the versions of the programs."""
    names = ", ".join(f"{name} {version}" for name, version in results.document["versions"].items())
    return f"Measured on {results.document['processors']} cores of a shared virtual machine, x86-64, with {names}."


BLOCKS: dict[str, Callable[[Results], str]] = {
    "fields": fields_table,
    "bytes": bytes_tables,
    "smallest": smallest,
    "BitRound": agreement,
    "quality": quality_table,
    "DSSIM": dssim_table,
    "PSNR": psnr_table,
    "zeros": zeros_table,
    "speed": speed_table,
    "versions": versions,
}


def filled(text: str, results: Results) -> str:
    """Returns the chapter with new tables."""
    for name, make in BLOCKS.items():
        begin = f"<!-- begin: comparison of {name} -->"
        block = re.compile(f"{re.escape(begin)}\n.*?<!-- end -->", re.DOTALL)
        # A function, because in a replacement text backslashes have a meaning.
        made = f"{begin}\n\n{make(results)}\n\n<!-- end -->".replace("\\", "\\\\")
        text, found = block.subn(made, text)
        if found != 1:
            raise SystemExit(f"{CHAPTER.name} has `{begin}` with its `<!-- end -->` {found} times, not once")
    return text


def main() -> None:
    """Writes the chapter, or checks it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    results = Results(json.loads((HERE / "results.json").read_text(encoding="utf-8")))
    before = CHAPTER.read_text(encoding="utf-8")
    after = filled(before, results)
    if not arguments.check:
        CHAPTER.write_text(after, encoding="utf-8")
    elif before != after:
        difference = difflib.unified_diff(before.splitlines(True), after.splitlines(True), "guide", "results")
        sys.stderr.writelines(difference)
        raise SystemExit(f"{CHAPTER.name} is not what results.json gives; write it with docs/comparison/section.py")
    else:
        print(f"{len(BLOCKS)} tables of {CHAPTER.name} are those of results.json")


if __name__ == "__main__":
    main()
