# Shared by the scripts in tools/. Sourced, with the checkout as the working
# directory.

# Runs Bazel. With NABLA_BAZEL_BATCH set no server stays behind.
run_bazel() {
  local startup=()
  if [[ -n "${NABLA_BAZEL_BATCH:-}" ]]; then startup+=(--batch); fi
  bazel "${startup[@]}" "$@"
}

say() { printf '\n== %s\n' "$*"; }

# A fresh file in a folder that goes away with the script.
scratch_folder() {
  if [[ -z "${scratch:-}" ]]; then
    scratch="$(mktemp -d "${TMPDIR:-/tmp}/nabla.XXXXXX")"
    trap 'rm -rf "$scratch"' EXIT
  fi
}
