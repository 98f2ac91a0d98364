#!/usr/bin/env python3
"""check_sbom.py FILE: checks the document with CycloneDX's published schema, and that each part has a unique name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main() -> int:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if fault is not None:
        raise SystemExit(f"{sys.argv[1]}: {str(fault)[:2000]}")
    document = json.loads(text)
    top = document["components"]
    names = [part["bom-ref"] for component in top for part in (component, *component.get("components", []))]
    if len(set(names)) != len(names):
        raise SystemExit(f"{sys.argv[1]}: two parts have one name")
    print(f"{len(names)} parts, as CycloneDX {document['specVersion']} has them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
