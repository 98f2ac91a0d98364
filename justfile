# `just check` runs what .ci/run runs; the other recipes are its parts.

set shell := ["bash", "-uc"]

default:
    @just --list

# Everything that must hold of a commit; `just check all` adds what takes long
check tier="commit":
    .ci/run {{tier}}

# Format the sources
format:
    cargo fmt

# Warnings are errors
lint:
    cargo clippy --release --all-targets --locked -- -D warnings

# All tests of Rust
test:
    cargo test --release --locked

# Fuzz one target (document, fill_value, shard_index, pipeline, apply_codec_decode) for so many seconds
fuzz target seconds:
    .ci/fuzz {{seconds}} {{target}}

# Write completions/, the generated pages of docs/ and the dataclasses of Python anew
generate:
    UPDATE_GENERATED=1 cargo test --locked --test layers
    python3 python/generate.py

# Build the wheel of the release program, and test it, its module and what the CI of others takes
python:
    cargo build --release --locked
    .ci/python target/release/zarrcast "$(mktemp -d)"

# Build the guide with the release program, check its links, run its examples
guide:
    cargo build --release --locked
    .ci/guide target/release/zarrcast "$(mktemp -d)"

# Look at reports of the release program in headless Chromium; screenshots of them go to `pictures`, where it is given
report pictures="":
    cargo build --release --locked
    .ci/report target/release/zarrcast "$(mktemp -d)" {{pictures}}

# Build all that a release has into a folder, and try what can be tried here (root, QEMU, debootstrap)
release folder:
    for target in source {x86_64,aarch64}-unknown-linux-{gnu,musl}; do .ci/release-artifacts "$target" {{folder}} || exit; done
    for libc in gnu musl; do packaging/try-emulated "aarch64-unknown-linux-$libc" {{folder}} target/x86_64-unknown-linux-musl/release/zarrcast || exit; done
    packaging/try-in-empty-root target/x86_64-unknown-linux-musl/release/zarrcast
    packaging/try-in-debian {{folder}}/zarrcast-*manylinux*x86_64.whl
    packaging/fill-in OWNER {{folder}} {{folder}}/recipes

# Quantise the example of the README
demo:
    .ci/readme-command demo-command

# The documentation of the library, with private items
document:
    cargo doc --no-deps --document-private-items --locked
