#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# All tests, from a fresh clone: installs what is missing, builds, boots real guests under emulation.
# The last line is "N passed, N failed" (and ", N skipped"). Needs root, or sudo for the packages.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'END'
usage: run-tests.sh [--full] [--no-guests] [--no-install]

  --full        also what takes long, and each fuzzer for $FUZZ_SECONDS (600)
  --no-guests   leave out what boots guests
  --no-install  do not install packages
END
}

# Nothing was tested: the last line says so all the same.
give_up() {
    echo "run-tests.sh: $*"
    echo "0 passed, 1 failed"
    exit 1
}

# configure FOLDER OPTION…
configure() {
    local folder=$1 log
    shift
    mkdir -p build
    log=build/${folder##*/}.log
    [[ -f $folder/build.ninja ]] || meson setup "$folder" "$@" >"$log" 2>&1 || {
        tail -n 40 "$log"
        give_up "meson setup $folder failed"
    }
    ninja -C "$folder" >"$log" 2>&1 || {
        grep -A 20 FAILED "$log" | head -n 60
        give_up "the build in $folder failed, see $log"
    }
}

# tests LABEL FOLDER OPTION…: failures are counted at the end, from the log.
tests() {
    local label=$1 folder=$2 log=$2/meson-logs/$1
    shift 2
    rm -f "$log"*.json
    echo "== $label"
    # A time-out is for what hangs, not for a machine that is slow (a later multiplier counts instead).
    meson test -C "$folder" --no-rebuild --logbase "$label" --timeout-multiplier 4 "$@" </dev/null || true
    # With a wrapper meson adds its name.
    logs+=("$label=$(compgen -G "$log*.json" || echo "$log.json")")
}

# The unit tests that are programs of the build; those in shell or Python need no valgrind.
test_programs() {
    meson introspect --tests "$1" | jq -r --arg build "$PWD/$1/" \
        '.[] | select(.suite[] | test("(^|:)unit$")) | select(.cmd[0] | startswith($build)) | .name'
}

# Each fuzzer for a while; a line of a log like meson's for each.
fuzz() {
    local target name found result seconds=${FUZZ_SECONDS:-600} log=build/fuzz/fuzz.json
    CC=clang configure build/fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
    rm -f "$log"
    for target in build/fuzz/tests/fuzz/fuzz-*; do
        [[ -x $target && -f $target ]] || continue
        name=${target##*/fuzz-}
        found=$(mktemp -d)
        echo "== fuzz-$name for $seconds s"
        result=OK
        "$target" -max_total_time="$seconds" -max_len=4096 -dict="tests/fuzz/$name.dict" \
            -artifact_prefix=build/fuzz/ -print_final_stats=1 "$found" "tests/fuzz/corpus/$name" \
            </dev/null >"build/fuzz/$name.log" 2>&1 || result=FAIL
        rm -rf "$found"
        tail -n 40 "build/fuzz/$name.log" | jq -R -s -c --arg name "fuzz-$name" --arg result $result \
            --argjson duration "$seconds" '{$name, $result, $duration, stderr: .}' >>"$log"
    done
    logs+=("fuzz=$log")
}

# Functions alone: the shell has read them all before it begins, whatever becomes of this file.
parse() {
    local argument
    full=no guests=yes install=yes
    for argument; do
        case $argument in
        --full) full=yes ;;
        --no-guests) guests=no ;;
        --no-install) install=no ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            exit 2
            ;;
        esac
    done
}

prepare() {
    local groups=(build guest test)
    [[ $full == no ]] || groups+=(full)
    [[ $install == no ]] || contrib/packages.sh "${groups[@]}" || give_up "packages are missing"
    if [[ -z ${VMATRIX_REAPER:-} ]]; then
        VMATRIX_REAPER=1 exec tests/reaper.py "$0" "$@"
    fi
    trap '((${#daemons[@]} == 0)) || kill "${daemons[@]}" 2>/dev/null' EXIT
}

main() {
    local programs started=$SECONDS
    parse "$@"
    prepare "$@"
    configure build/test
    configure build/asan -Db_sanitize=address,undefined -Db_lundef=false
    if [[ $guests == yes ]]; then
        contrib/libvirt.sh >build/daemons || give_up "libvirt does not answer"
        mapfile -t daemons < <(cut -d ' ' -f 1 build/daemons)
        contrib/guests/micro.sh || give_up "the small guest could not be built"
    fi
    tests unit build/test --suite unit --suite fuzz --suite lint
    tests sanitizers build/asan --suite unit --suite fuzz
    mapfile -t programs < <(test_programs build/test)
    tests valgrind build/test --wrapper "$PWD/tests/valgrind.sh" --timeout-multiplier 10 "${programs[@]}"
    if [[ $guests == yes ]]; then
        tests guests build/test --suite integration --suite fault
    fi
    if [[ $full == yes ]]; then
        tests full build/test --suite full
        fuzz
    fi
    echo "== after $((SECONDS - started)) s"
    tests/summary.py "${logs[@]}"
}

logs=()
daemons=()
main "$@"
exit
