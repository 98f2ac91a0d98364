#!/usr/bin/env python3
"""Writes THIRD-PARTY-LICENSES: the authors, licences and licence texts of everything that is linked into the program.

`third_party_licenses.py [--target TRIPLE] [--zig FOLDER] [--sbom SBOM] [--check] [FILE]` takes the crates of the
program for a target from `cargo metadata`, with their licence files and those of the C libraries that they contain.
`--zig` adds the libraries that Zig links: FOLDER is the folder of the package `ziglang`. Build tools and
dev-dependencies are not in the program and not in the file. `--sbom` also writes the parts as a CycloneDX
document.

It fails if a licence is not in ALLOWED, if a crate contains C code without a row in BUNDLED, or if a text is
missing. `--check` writes nothing.
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

# Licences (SPDX names) that only require attribution and their text.
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

# Libraries inside crates: name, licence and files. The files are relative to the crate, or to
# `packaging/licenses` if they begin with a colon.
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
# Crates with C code of their own, under the licence of the crate.
OWN_C = {"link-cplusplus", "signal-hook"}
# Crates without a licence file: the crate whose text is used.
WITHOUT_TEXT = {
    "better_io": [":../../LICENSE-APACHE"],
    "blosc-src": [":bsd-3-clause.txt"],
    "dtype_dispatch": [":../../LICENSE-APACHE"],
    "maud": [":../../LICENSE-APACHE"],
    "maud_macros": [":../../LICENSE-APACHE"],
    "pco": [":../../LICENSE-APACHE"],
    "zarrs_plugin": [":../../LICENSE-APACHE"],
}
# Libraries that Zig links: licence and file, in the folder of the package. musl is only for musl targets.
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
    """A problem that must be solved before a release."""


@dataclass
class Part:
    """A part of the program."""

    name: str
    version: str
    terms: str
    source: str
    texts: list[str] = field(default_factory=list)
    # For a crate: the checksum of its file in the registry. For a library in a crate: that crate.
    checksum: str = ""
    within: str = ""


def is_allowed(terms: str) -> bool:
    """Returns whether an SPDX expression allows an allowed licence."""
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
    """Returns the crates that are linked into the program for a target, sorted by name."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    root = found["resolve"]["root"]
    seen = {root}
    waiting = [root]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            # Without dev-dependencies and build dependencies.
            if dependency["pkg"] not in seen and any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    own = set(found["workspace_members"])
    return sorted((packages[key] for key in seen - own), key=lambda package: (package["name"], package["version"]))


def read(folder: Path, name: str) -> str:
    """Returns a text from a crate or, after a colon, from `packaging/licenses`."""
    path = ROOT / "packaging" / "licenses" / name[1:] if name.startswith(":") else folder / name
    return path.read_text(encoding="utf-8", errors="replace")


def parts_of(package: dict[str, Any]) -> list[Part]:
    """Returns a crate, and the libraries in it."""
    name, version = package["name"], package["version"]
    folder = Path(package["manifest_path"]).parent
    own = sorted(path for path in folder.iterdir() if path.is_file() and LICENSE_FILE.match(path.name))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in own]
    texts = texts or [read(folder, text) for text in WITHOUT_TEXT.get(name, [])]
    if not texts:
        raise Fault(f"{name} {version} has no file of its terms: WITHOUT_TEXT is to name one")
    # An older form uses a slash for OR.
    terms = re.sub(r"\s*/\s*", " OR ", package["license"] or "")
    if not is_allowed(terms):
        raise Fault(f"{name} {version} is under {terms or 'no terms that it names'}, of which ALLOWED has none")
    has_c = any(path.suffix in C_FILE for path in folder.rglob("*") if path.is_file())
    if has_c and name not in BUNDLED and name not in OWN_C:
        raise Fault(f"{name} {version} holds C or assembly: a row of BUNDLED is to say whose it is, or OWN_C its name")
    # With a choice of licences, one text would be enough. All are included, so that the user can choose.
    parts = [Part(name, version, terms, package["repository"] or "", texts)]
    for library, of_library, files in BUNDLED.get(name, []):
        if not is_allowed(of_library):
            raise Fault(f"{library} is under {of_library}, which is not in ALLOWED")
        library_texts = [read(folder, file) for file in files]
        parts.append(Part(library, f"in {name} {version}", of_library, "", library_texts, within=parts[0].name))
    return parts


def of_rust() -> Part:
    """Returns the standard library, which is linked into every program."""
    version = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    texts = [read(ROOT, "LICENSE-APACHE"), read(ROOT, ":rust.txt")]
    # Its Unicode tables and compiler-rt have their own licences. Other parts contain the texts.
    terms = "(MIT OR Apache-2.0) AND Unicode-3.0 AND Apache-2.0 WITH LLVM-exception"
    return Part("the standard library of Rust", version, terms, "https://github.com/rust-lang/rust", texts)


def document(parts: list[Part], target: str) -> str:
    """Returns the whole file: a list of parts, then each text once, with the parts under it."""
    users: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for part in parts:
        for text in part.texts:
            # Texts that differ only in line breaks are one text.
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
    """Returns the SHA-256 of the file of each crate, by name and version, from Cargo.lock."""
    entry = re.compile(r'name = "(.*)"\nversion = "(.*)"\nsource = ".*"\nchecksum = "(.*)"')
    found = entry.findall((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(name, version): checksum for name, version, checksum in found}


def bill(parts: list[Part], target: str) -> dict[str, Any]:
    """Returns the parts as CycloneDX 1.5. Libraries in a crate are components of its component."""
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
