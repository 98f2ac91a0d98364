#!/usr/bin/env python3
"""Writes THIRD-PARTY-LICENSES: who made what the program is built of, on which terms, with the texts of them.

`third_party_licenses.py [--target TRIPLE] [--zig FOLDER] [--sbom SBOM] [--check] [FILE]` takes the crates of
the program for a target, out of what `cargo metadata` tells, and their own licence files, also those of C
libraries that lie in them. `--zig` adds the libraries that Zig links: the folder of the package `ziglang`.
Tools of the build, and what only tests need, are not in the program, and not here. `--sbom` writes the same
parts as a CycloneDX document, for programs.

It fails where terms are not among those of ALLOWED, where a crate holds C that no row of BUNDLED accounts for, and
where a text is missing. `--check` writes nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RULE = "=" * 80

# Terms, by their names in the SPDX list, that ask for no more than to be named and passed on with the program.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
}

# What else lies in a crate: its name, terms and files, which are relative to the crate, or to `packaging/licenses`
# where they begin with a colon.
BUNDLED = {
    "blosc-src": [
        ("c-blosc", "BSD-3-Clause", [":c-blosc.txt"]),
        ("FastLZ, in c-blosc", "MIT", [":fastlz.txt"]),
        ("bitshuffle, in c-blosc", "MIT", [":bitshuffle.txt"]),
    ],
    "liblzma-sys": [("liblzma of xz", "0BSD", ["xz/COPYING", "xz/COPYING.0BSD"])],
    "libmimalloc-sys": [("mimalloc", "MIT", ["c_src/mimalloc/v3/LICENSE"])],
    "libz-sys": [("zlib", "Zlib", ["src/zlib/LICENSE"])],
    "lz4-sys": [("liblz4", "BSD-2-Clause", ["liblz4/lib/LICENSE"])],
    "ring": [("fiat-crypto", "MIT", ["third_party/fiat/LICENSE"])],
    "snappy_src": [("snappy", "BSD-3-Clause", ["snappy/COPYING"])],
    "zstd-sys": [("zstd", "BSD-3-Clause", ["zstd/LICENSE"])],
}
# C of the crate's own, under the crate's terms.
OWN_C = {"link-cplusplus", "signal-hook"}
# Crates without a file of their terms: whose text stands for them.
WITHOUT_TEXT = {
    "better_io": [":../../LICENSE-APACHE"],
    "blosc-src": [":bsd-3-clause.txt"],
    "dtype_dispatch": [":../../LICENSE-APACHE"],
    "maud": [":../../LICENSE-APACHE"],
    "maud_macros": [":../../LICENSE-APACHE"],
    "pco": [":../../LICENSE-APACHE"],
    "zarrs_plugin": [":../../LICENSE-APACHE"],
}
# What Zig links beside: terms and the file, in the folder of the package. musl is that of musl targets alone.
OF_ZIG = [
    ("libc++", "Apache-2.0 WITH LLVM-exception", "lib/libcxx/LICENSE.TXT"),
    ("libc++abi", "Apache-2.0 WITH LLVM-exception", "lib/libcxxabi/LICENSE.TXT"),
    ("libunwind", "Apache-2.0 WITH LLVM-exception", "lib/libunwind/LICENSE.TXT"),
    ("compiler-rt of Zig", "MIT", "LICENSE"),
    ("musl", "MIT", "lib/libc/musl/COPYRIGHT"),
]

LICENSE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
C_FILE = {".c", ".cc", ".cpp", ".cxx", ".s", ".S", ".asm"}


class Fault(Exception):
    """What must be seen to before anything is published."""


@dataclass
class Part:
    """Something that is in the program."""

    name: str
    version: str
    terms: str
    source: str
    texts: list[str] = field(default_factory=list)
    # Of a crate: what the registry says its file hashes to. Of a library in a crate: that crate.
    checksum: str = ""
    within: str = ""


def is_allowed(terms: str) -> bool:
    """Whether an expression of SPDX leaves a choice that is allowed."""
    words = re.findall(r"[()]|[^\s()]+", terms)

    def any_of() -> bool:
        found = all_of()
        while words and words[0] == "OR":
            words.pop(0)
            found = all_of() or found
        return found

    def all_of() -> bool:
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            found = any_of()
            if not words or words.pop(0) != ")":
                raise Fault(f"a parenthesis of {terms!r} is not closed")
            return found
        if words and words[0] == "WITH":
            words.pop(0)
            word = f"{word} WITH {words.pop(0)}"
        return word in ALLOWED

    try:
        found = any_of()
    except IndexError:
        raise Fault(f"{terms!r} is not an expression of terms") from None
    if words:
        raise Fault(f"{terms!r} is not an expression of terms")
    return found


def linked(target: str) -> list[dict[str, Any]]:
    """The crates of others that are linked into the program for a target, sorted by name."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    root = found["resolve"]["root"]
    seen = {root}
    waiting = [root]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            # Neither for tests alone nor for the build.
            if dependency["pkg"] not in seen and any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    own = set(found["workspace_members"])
    return sorted((packages[key] for key in seen - own), key=lambda package: (package["name"], package["version"]))


def read(folder: Path, name: str) -> str:
    """A text, from a crate or, after a colon, from `packaging/licenses`."""
    path = ROOT / "packaging" / "licenses" / name[1:] if name.startswith(":") else folder / name
    return path.read_text(encoding="utf-8", errors="replace")


def parts_of(package: dict[str, Any]) -> list[Part]:
    """A crate, and what else lies in it."""
    name, version = package["name"], package["version"]
    folder = Path(package["manifest_path"]).parent
    own = sorted(path for path in folder.iterdir() if path.is_file() and LICENSE_FILE.match(path.name))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in own]
    texts = texts or [read(folder, text) for text in WITHOUT_TEXT.get(name, [])]
    if not texts:
        raise Fault(f"{name} {version} has no file of its terms: WITHOUT_TEXT is to name one")
    # An older form has a slash for OR.
    terms = re.sub(r"\s*/\s*", " OR ", package["license"] or "")
    if not is_allowed(terms):
        raise Fault(f"{name} {version} is under {terms or 'no terms that it names'}, of which ALLOWED has none")
    has_c = any(path.suffix in C_FILE for path in folder.rglob("*") if path.is_file())
    if has_c and name not in BUNDLED and name not in OWN_C:
        raise Fault(f"{name} {version} holds C or assembly: a row of BUNDLED is to say whose it is, or OWN_C its name")
    # Whoever takes one of several terms need pass on that text alone; all are, so that others may choose.
    parts = [Part(name, version, terms, package["repository"] or "", texts)]
    for library, of_library, files in BUNDLED.get(name, []):
        if not is_allowed(of_library):
            raise Fault(f"{library} is under {of_library}, which is not in ALLOWED")
        library_texts = [read(folder, file) for file in files]
        parts.append(Part(library, f"in {name} {version}", of_library, "", library_texts, within=parts[0].name))
    return parts


def of_rust() -> Part:
    """The standard library, which is linked into every program."""
    version = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    texts = [read(ROOT, "LICENSE-APACHE"), read(ROOT, ":rust.txt")]
    # Its tables of Unicode and its compiler-rt have terms of their own, whose texts other parts bring.
    terms = "(MIT OR Apache-2.0) AND Unicode-3.0 AND Apache-2.0 WITH LLVM-exception"
    return Part("the standard library of Rust", version, terms, "https://github.com/rust-lang/rust", texts)


def document(parts: list[Part], target: str) -> str:
    """All of it: a list of parts, then each text once, with who is under it."""
    users: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for part in parts:
        for text in part.texts:
            # Texts that differ in the breaking of lines alone are one.
            same = " ".join(text.split())
            texts.setdefault(same, text)
            users.setdefault(same, []).append(f"{part.name} {part.version}")
    lines = [
        f"What zarrcast for {target} is built of. zarrcast itself is under MIT OR Apache-2.0",
        "(LICENSE-MIT, LICENSE-APACHE). Each part has its terms; the texts come after the list.",
        "",
    ]
    lines += [f"{part.name} {part.version}: {part.terms}{part.source and f' ({part.source})'}" for part in parts]
    for same, text in texts.items():
        lines += ["", RULE, *sorted(set(users[same])), RULE, "", text.strip()]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def checksums() -> dict[tuple[str, str], str]:
    """SHA-256 of the file of each crate, by name and version, as Cargo.lock has it."""
    entry = re.compile(r'name = "(.*)"\nversion = "(.*)"\nsource = ".*"\nchecksum = "(.*)"')
    found = entry.findall((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(name, version): checksum for name, version, checksum in found}


def bill(parts: list[Part], target: str) -> dict[str, Any]:
    """The parts as CycloneDX 1.5 has them; libraries that lie in a crate are components of its component."""
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    known = checksums()
    components: dict[str, dict[str, Any]] = {}
    for part in parts:
        component: dict[str, Any] = {"type": "library", "name": part.name, "licenses": [{"expression": part.terms}]}
        if part.within:
            inside = next(each for each in components.values() if each["name"] == part.within)
            inside.setdefault("components", []).append(component | {"bom-ref": f"{inside['bom-ref']}#{part.name}"})
            continue
        if checksum := known.get((part.name, part.version)):
            component["purl"] = f"pkg:cargo/{part.name}@{part.version}"
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if not part.version.startswith("of "):
            component["version"] = part.version
        if part.source:
            component["externalReferences"] = [{"type": "vcs", "url": part.source}]
        reference = component.get("purl", f"{part.name} {part.version}")
        components[reference] = component | {"bom-ref": reference}
    itself = {
        "type": "application",
        "bom-ref": "zarrcast",
        "name": "zarrcast",
        "version": version[1] if version else "",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
        "properties": [{"name": "target", "value": target}],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": itself},
        "components": list(components.values()),
        "compositions": [{"aggregate": "complete", "assemblies": ["zarrcast"]}],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", default="x86_64-unknown-linux-gnu", metavar="TRIPLE")
    parser.add_argument("--zig", type=Path, metavar="FOLDER")
    parser.add_argument("--sbom", type=Path, metavar="SBOM")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("file", nargs="?", type=Path)
    arguments = parser.parse_args()
    if arguments.check == (arguments.file is not None):
        parser.error("either --check or FILE")
    faults = []
    parts = [of_rust()]
    for package in linked(arguments.target):
        try:
            parts += parts_of(package)
        except (Fault, OSError) as fault:
            faults.append(str(fault))
    if arguments.zig:
        for name, terms, file in OF_ZIG:
            if name != "musl" or arguments.target.endswith("-musl"):
                parts.append(Part(name, "of Zig", terms, "", [(arguments.zig / file).read_text(encoding="utf-8")]))
    for message in faults:
        print(f"{Path(__file__).name}: {message}", file=sys.stderr)
    if faults:
        return 1
    if arguments.sbom:
        arguments.sbom.write_text(json.dumps(bill(parts, arguments.target), indent=1) + "\n", encoding="utf-8")
    if arguments.file:
        arguments.file.write_text(document(parts, arguments.target), encoding="utf-8")
    print(f"{len(parts)} parts for {arguments.target}, all under terms that are allowed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
