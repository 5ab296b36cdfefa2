# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# An agent for the small guest's shell that speaks the protocol up to "go" and then breaks down as
# $fault says. make_agent in tests/integration/lib.sh puts the first two lines before this.

: "${fault:?}"

now() {
    read -r up rest </proc/uptime
    echo "${up%.*}${up#*.}0000000"
}

# number_of LINE MEMBER: a JSON member that is an integer.
number_of() {
    echo "$1" | sed "s/.*\"$2\":\\([0-9]*\\).*/\\1/"
}

break_down() {
    case $fault in
    hang)
        echo "{\"type\":\"begin\",\"invocation\":$1,\"t\":$(now)}"
        echo "faulty agent: begun" >/dev/console
        sleep 3600
        ;;
    garbage) echo '%%% Segmentation fault at 0x0 {]' ;;
    nul) printf '{"type":"begin",\000"invocation":%s,"t":1}\n' "$1" ;;
    long-line)
        # 100 MB without a newline.
        head -c 100000000 /dev/zero | tr '\0' x
        echo
        ;;
    exit) exit 7 ;;
    esac
}

case ${1:-} in
session) ;;
digest) # what proves that it can be run, and is whole
    sha256sum "$2"
    exit 0
    ;;
*) exit 2 ;;
esac
echo '{"type":"hello","protocol":1,"version":"0.1.0","clock":"CLOCK_MONOTONIC_RAW","resolution_ns":10000000,"clock_cost_ns":1000,"os":"linux","arch":"x86_64","cpus":1}'
while read -r line; do
    case $line in
    *'"ping"'*) echo "{\"type\":\"pong\",\"id\":$(number_of "$line" id),\"t\":$(now)}" ;;
    *'"facts"'*) echo '{"type":"facts","facts":{"os.kernel":"faulty"}}' ;;
    *'"run"'*) echo "{\"type\":\"ready\",\"invocation\":$(number_of "$line" invocation)}" ;;
    *'"go"'*) break_down "$(number_of "$line" invocation)" ;;
    *'"bye"'*)
        echo '{"type":"bye","invocations":0,"samples":0}'
        exit 0
        ;;
    esac
done
