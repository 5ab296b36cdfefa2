#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Puts the reference tools into FOLDER, without root and without a change to the system's apt:
#   FOLDER/lmbench   Debian's lmbench (non-free), its programs
#   FOLDER/static    lat_proc and hello of Debian's lmbench source package, linked with -static
#   FOLDER/root      Debian's fio and sysbench with their libraries, where they are not installed
# lmbench is fetched by an apt configuration of FOLDER's own that knows main and non-free. Installing
# it by hand: add "non-free" to Components in /etc/apt/sources.list.d/debian.sources, apt-get update,
# apt-get install lmbench; then its /usr/lib/lmbench/bin is used. Prints FOLDER.
#
# usage: tools.sh [FOLDER]      default: ${XDG_CACHE_HOME:-~/.cache}/vmatrix/fidelity
set -euo pipefail
umask 022

folder=$(realpath -m "${1:-${XDG_CACHE_HOME:-$HOME/.cache}/vmatrix/fidelity}")

fail() {
    echo "tools.sh: $*" >&2
    exit 1
}

write_apt_configuration() {
    local suite site keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [[ -n $suite ]] || fail "/etc/os-release has no VERSION_CODENAME: Debian is needed"
    [[ -r $keyring ]] || fail "$keyring is missing: apt-get install debian-archive-keyring"
    # shellcheck disable=SC2016 # apt's own variable
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)
    mkdir -p "$folder"/apt/{lists,cache/archives}/partial
    printf 'deb%s [signed-by=%s] %s %s main non-free\n' \
        '' "$keyring" "${site:-http://deb.debian.org/debian}" "$suite" \
        '-src' "$keyring" "${site:-http://deb.debian.org/debian}" "$suite" >"$folder/apt/sources.list"
    cat >"$folder/apt/apt.conf" <<END
Dir::Etc::SourceList "$folder/apt/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$folder/apt/lists";
Dir::Cache "$folder/apt/cache";
APT::Sandbox::User "$(id -un)";
END
}

private_apt() {
    APT_CONFIG=$folder/apt/apt.conf apt-get -qq "$@"
}

# Packages and what they need that is not installed, unpacked into $folder/root.
unpack() {
    local list
    list=$(APT_CONFIG=$folder/apt/apt.conf apt-get -s --no-install-recommends install "$@" |
        sed -n 's/^Inst \([^ ]*\) .*/\1/p')
    mkdir -p "$folder/debs"
    # shellcheck disable=SC2086 # a list of packages
    [[ -z $list ]] || (cd "$folder/debs" && private_apt download $list)
    find "$folder/debs" -name '*.deb' -exec dpkg-deb -x {} "$folder/root" ';'
}

# Debian's patched source, its own build with -static. Without it fork, exec and shell have no reference.
build_static() {
    (cd "$folder" && private_apt source --download-only lmbench && dpkg-source -x lmbench_*.dsc source) ||
        return 1
    local library program
    mkdir -p "$folder/static"
    cd "$folder/source/src" || return 1
    for library in lib_timing lib_mem lib_sched lib_stats lib_debug getopt; do
        gcc -O -w -std=gnu89 -DHAVE_uint -DHAVE_int64_t -DHAVE_socklen_t -c "$library.c" || return 1
    done
    for program in lat_proc hello; do
        gcc -O -w -std=gnu89 -static -DHAVE_uint -DHAVE_int64_t -DHAVE_socklen_t -o "$folder/static/$program" \
            "$program.c" lib_timing.o lib_mem.o lib_sched.o lib_stats.o lib_debug.o getopt.o -lm || return 1
    done
}

static_or_warn() {
    [[ -x $folder/static/hello ]] || (build_static) >&2 ||
        echo "tools.sh: no static lat_proc: the rows of fork, exec and shell will fail" >&2
}

if [[ ! -e $folder/ready ]]; then
    command -v apt-get >/dev/null || fail "apt-get is missing: the reference tools are Debian's"
    write_apt_configuration
    private_apt update >&2 || fail "apt-get update failed with $folder/apt/apt.conf: is the network there?"
    rm -rf "$folder"/{root,debs,lmbench}
    unpack lmbench fio sysbench >&2 || fail "cannot download lmbench, fio and sysbench"
    lmbench=$folder/root/usr/lib/lmbench/bin
    [[ -d $lmbench ]] || lmbench=/usr/lib/lmbench/bin
    ln -sfn "$(dirname "$(find -L "$lmbench" -name lat_syscall | head -n 1)")" "$folder/lmbench"
    touch "$folder/ready"
fi
rm -rf "$folder/source"
static_or_warn
echo "$folder"
