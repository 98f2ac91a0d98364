#!/usr/bin/env python3
"""render_recipe.py RECIPE: checks that rattler-build accepts it for each platform, with conda-forge settings."""

from __future__ import annotations

import sys

from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

# Names from conda-forge's pinning. The versions do not matter here.
VARIANTS = {
    "c_compiler": ["gcc"],
    "cxx_compiler": ["gxx"],
    "rust_compiler": ["rust"],
    "c_stdlib": ["sysroot"],
    "c_stdlib_version": ["2.17"],
    "python_min": ["3.10"],
}
PLATFORMS = ["linux-64", "linux-aarch64", "osx-arm64"]


def main() -> int:
    recipe = Stage0Recipe.from_file(sys.argv[1])
    for platform in PLATFORMS:
        config = RenderConfig(
            platform=PlatformConfig(target_platform=platform, host_platform=platform, build_platform="linux-64")
        )
        rendered = recipe.render(VariantConfig(VARIANTS), config)
        if len(rendered) != 1:
            raise SystemExit(f"{platform}: {len(rendered)} packages, not one for every Python")
        found = rendered[0].recipe
        requirements = (found() if callable(found) else found).to_dict()["requirements"]
        print(platform, *requirements["build"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
