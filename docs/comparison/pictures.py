#!/usr/bin/env python3
"""Draws the pictures of "Beside other compressors": `pictures.py PROGRAM`, after measure.py (see its requirements).

The pictures are opaque, so they are readable on a dark page, too.
"""

import io
import json
import sys
import tempfile
from pathlib import Path

import matplotlib
from fields import fields
from matplotlib import pyplot
from PIL import Image
from section import HERE, LEVELS, MIDDLE, Results
from ways import Program, ways

PICTURES = HERE.parent / "pictures"
# Way, colour, marker. The colours are those of Okabe and Ito, which colour-blind readers can distinguish.
LINES = {
    "codes, shuffled": ("codes, shuffled", "#0072b2", "o"),
    "codes, pcodec": ("codes, pcodec", "#56b4e9", "s"),
    "predicted, any": ("predicted", "#cc79a7", "X"),
    "bits, shuffled": ("bits, shuffled", "#009e73", "^"),
    "Quantize": ("Quantize", "#b8a800", "v"),
    "ZFP": ("ZFP", "#e69f00", "D"),
    "SZ3": ("SZ3", "#d55e00", "P"),
}
CHARTED = ["air temperature", "eastward wind", "sea-ice velocity", "turbulent"]
MAPPED = "surface temperature"
MAPS = {
    "codes, shuffled": "--max-error",
    "steps, shuffled": "--step",
    "bits, shuffled": "--keep-bits",
    "Quantize": "Quantize",
    "ZFP": "ZFP",
    "SZ3": "SZ3",
}


def chart(results: Results) -> None:
    """Draws bits per value against the largest error, and against the rms error."""
    figure, axes = pyplot.subplots(2, len(CHARTED), figsize=(11, 6), sharex="row", layout="constrained")
    for field, (above, below) in zip(CHARTED, axes.T, strict=True):
        for way, (text, colour, marker) in LINES.items():
            rows = [results.row(field, level, way) for level in LEVELS]
            bits = [32 / results.ratio(field, level, way) for level in LEVELS]
            style = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.4, "label": text}
            above.plot([row["error"] * level for row, level in zip(rows, LEVELS, strict=True)], bits, **style)
            below.plot([row["psnr"] for row in rows], bits, **style)
        above.set(title=field, xscale="log", xlabel="greatest error / range")
        below.set(xlabel="PSNR, dB")
        for panel in (above, below):
            panel.set_ylim(0, None)
            panel.grid(color="#e0e0e0", linewidth=0.6)
    axes[0, 0].invert_xaxis()
    for panel in axes[:, 0]:
        panel.set_ylabel("bits a value")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(LINES), frameon=False)
    figure.savefig(PICTURES / "comparison_bits.svg", metadata={"Date": None})


def maps(path: str, results: Results) -> None:
    """Draws a level of a field, and the result of each way at one bound."""
    field = next(field for field in fields() if field.name == MAPPED)
    bound = MIDDLE * field.span
    figure, axes = pyplot.subplots(2, 4, figsize=(11, 4.6), layout="constrained")
    panels = list(axes.flat)
    shown = panels[0].imshow(field.values[0], cmap="viridis", interpolation="nearest")
    panels[0].set_title("surface temperature, K", fontsize=10)
    figure.colorbar(shown, ax=panels[0], shrink=0.8)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        known = ways(Program(path, Path(folder)))
        for panel, (way, text) in zip(panels[1:], MAPS.items(), strict=False):
            tuned = known[way](field.values, bound)
            error = (tuned.values(tuned.encode())[0].astype("float64") - field.values[0]) / bound
            errors = panel.imshow(error, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
            panel.set_title(f"{text}: {results.ratio(MAPPED, MIDDLE, way):.1f} times smaller", fontsize=10)
            label, colour = (LINES[way][0].split(",")[0], LINES[way][1]) if way in LINES else ("steps", "#000000")
            panels[-1].hist(
                error.ravel(), bins=41, range=(-1, 1), color=colour, histtype="step", linewidth=1.2, label=label
            )
    for panel in panels[:-1]:
        panel.set(xticks=[], yticks=[])
    panels[-1].set_title("how the errors are spread", fontsize=10)
    panels[-1].set(xticks=[-1, 0, 1], yticks=[], xlabel="error / bound")
    panels[-1].legend(fontsize=7, frameon=False)
    figure.colorbar(errors, ax=axes[0, -1], label="error / bound", shrink=0.8)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=100)
    # 64 colours look the same and take a third of the space.
    Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(
        PICTURES / "comparison_errors.png", optimize=True
    )


def main() -> None:
    """Draws both."""
    matplotlib.use("Agg")
    pyplot.rcParams.update(
        {"font.size": 9, "svg.hashsalt": "comparison", "svg.fonttype": "none", "font.family": "sans-serif"}
    )
    results = Results(json.loads((HERE / "results.json").read_text(encoding="utf-8")))
    chart(results)
    maps(sys.argv[1], results)


if __name__ == "__main__":
    main()
