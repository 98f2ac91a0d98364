"""The outcome of the matrix as docs/interop.md."""

from collections import Counter

WORKS, REFUSED, UNREAD, FAILS = "works", "refused", "unread", "fails"

HEAD = """\
# Interoperability

What `zarrcast` does with arrays that other programs write. `tests/interop/matrix.py` writes this page and CI compares it: an entry that
worked has to go on working, and no other may fail.

Each row is a data type, in {count:,} arrays altogether: with every compressor that its writer has (none, zstd, gzip, zlib, bz2, lz4, lzma,
five kinds of blosc, crc32c), in C and F order, little and big endian, in format 3 also in shards. The elements are of every bit pattern,
NaN payloads and not-a-time among them, some chunks are absent, and fill values are not zero.

| column | what works if it says yes |
| --- | --- |
| inspect | shape, chunk and shard shape, data type and fill value are what the writer was told |
| validate | `--level data` finds no error |
| copy | `transcode` with no option gives the same bytes in every file |
| to 2, to 3 | `transcode --zarr-format` to the other format |
| and back | the same of what came of it, to the first format; of format 2 every chunk has its bytes again (but of `quantize` in big endian) |
| recompress | `transcode --compress zstd:1` |
| rechunk | `transcode --chunk-shape`, to chunks that cut across the old ones; in shards, the inner chunks |
| read by | who reads the source, and the results of the last four columns: **P** zarr-python 3.1.6, **N** the newest zarr-python, **T** tensorstore |

The last four are judged by other readers: every element has to come back bit for bit. "Refused" is exit status 1 with a message and
nothing written; "unread" that no program asked reads the result (the newest zarr-python is asked of conversions, and of what it wrote
itself). Where only some arrays of a row are so, their number is given. A failure is written in bold, whichever program is at fault.
"""
INITIALS = {"zarr-python 3.1.6": "P", "the newest zarr-python": "N", "tensorstore": "T"}


class Notes:
    def __init__(self):
        self.numbers = {}

    def mark(self, text):
        return f"[^{self.numbers.setdefault(text, len(self.numbers) + 1)}]"

    def listed(self):
        return [f"[^{number}]: {text}" for text, number in self.numbers.items()]


def entry(verdicts, notes):
    counts = Counter(found for found, _ in verdicts)
    reasons = list(dict.fromkeys(why for _, why in verdicts if why))
    marks = " ".join(notes.mark(reason) for reason in sorted(reasons))
    if counts[FAILS]:
        return f"**{counts[FAILS]} fail** {marks}"
    for other in (REFUSED, UNREAD):
        if counts[other] == len(verdicts):
            return f"{other} {marks}"
    parts = ["yes", *(f"{counts[other]} {other}" for other in (REFUSED, UNREAD) if counts[other])]
    return f"{', '.join(parts)} {marks}".strip()


def table(runs, notes):
    operations = ["inspect", "validate", "copy", "convert", "back", "recompress", "rechunk"]
    words = {"convert": f"to {5 - runs.version}", "back": "and back"}
    titles = [words.get(operation, operation) for operation in operations]
    lines = [f"## {runs.title}", ""]
    lines.append(f"| data type | arrays | {' | '.join(titles)} | read by |")
    lines.append("| --- " * (len(titles) + 3) + "|")
    rows = {}
    for cell in runs.cells:
        rows.setdefault((cell["row"], cell["title"]), []).append(cell["path"])
    for (_, title), paths in rows.items():
        entries = [entry([runs.verdicts[path, operation] for path in paths], notes) for operation in operations]
        read_by = "".join(INITIALS[reader] for reader in INITIALS if any(reader in runs.readers[path] for path in paths))
        lines.append(f"| {title} | {len(paths)} | {' | '.join(entries)} | {read_by} |")
    return "\n".join([*lines, ""])


def document(outcome):
    notes = Notes()
    tables = [table(runs, notes) for runs in outcome]
    head = HEAD.format(count=sum(len(runs.cells) for runs in outcome))
    return "\n".join([head, *tables, *notes.listed()]) + "\n"
