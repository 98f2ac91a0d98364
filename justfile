# `just check` runs .ci/run. The other recipes are its parts.

set shell := ["bash", "-uc"]

default:
    @just --list

# All checks of a commit; `just check all` adds the slow ones
check tier="commit":
    .ci/run {{tier}}

# Format the sources
format:
    cargo fmt

# Clippy; warnings are errors
lint:
    cargo clippy --release --all-targets --locked -- -D warnings

# All Rust tests
test:
    cargo test --release --locked

# Fuzz one target (see the names in fuzz/targets) for so many seconds
fuzz target seconds:
    .ci/fuzz {{seconds}} {{target}}

# Write the generated files: completions/, pages of docs/, the dataclasses of Python
generate:
    UPDATE_GENERATED=1 cargo test --locked --test library layers
    python3 python/generate.py

# Build the wheel of the release program; test it, its module, the action and the hooks
python:
    cargo build --release --locked
    .ci/python target/release/zarrcast "$(mktemp -d)"

# Build the guide with the release program, check its links, run its examples
guide:
    cargo build --release --locked
    .ci/guide target/release/zarrcast "$(mktemp -d)"

# Check reports of the release program in headless Chromium; `pictures` is a folder for screenshots
report pictures="":
    cargo build --release --locked
    .ci/report target/release/zarrcast "$(mktemp -d)" {{pictures}}

# Build everything of a release into a folder, and try what can be tried here (root, QEMU, debootstrap)
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
