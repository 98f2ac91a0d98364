#!/usr/bin/env bash
# Draws the pictures of quantising.md: `docs/make_pictures.sh PROGRAM`. Run it again if the pictures of the program change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
program="$1"
field=../fixtures/valid/sea_surface_temperature
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# draw STORE NAME: draws the second month as pictures/NAME.png.
draw() {
    "$program" inspect --preview time=1 --preview-png "pictures/$2.png" "$1" >"$folder/text" || { cat "$folder/text"; exit 1; }
}
mkdir -p pictures
"$program" transcode --quantize uint8 --compress zstd:5 "$field" "$folder/8.zarr" >/dev/null
"$program" transcode --quantize uint4 --compress zstd:5 "$field" "$folder/4.zarr" >/dev/null
draw "$field" sst
draw "$folder/8.zarr" sst_8_bits
draw "$folder/4.zarr" sst_4_bits
