#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# vmatrix from outside: exit codes, where output goes, what is refused. No guest is booted.
# Usage: test-cli.sh VMATRIX
source "$(dirname "$0")/lib.sh" "$1"

cat > plan.yaml <<'END'
version: 1
plan: tiny
axes:
  hypervisor: [bare]
  vcpus: [1]
workloads: [ops.int32-add]
repeat: {boots: 2, samples: 3, sample-time: 1ms}
idle: off
evidence: {verdict: flag}
END
sed 's/vcpus/vpcus/' plan.yaml > wrong.yaml
sed 's/ops.int32-add/ops.int32-ad/' plan.yaml > unknown.yaml
sed 's/bare/elsewhere/' plan.yaml > elsewhere.yaml
printf 'version: 1\nhypervisors: {}\n' > site.yaml
printf '\xef\xbb\xbfversion: 1\r\nguests: 7\r\n' > site-wrong.yaml

# ---- usage ----
gives 0 '^usage: vmatrix \[OPTIONS\] COMMAND' --help
gives 0 '^usage: vmatrix plan' plan --help
gives 0 '^usage: vmatrix guest COMMAND' guest --help
gives 0 '^vmatrix [0-9]+\.[0-9]+' --version
gives 2 'no command'
gives 2 'did you mean "results"' reslts
gives 2 'did you mean --output' results --outptu x
gives 2 'must be one of table, csv, json, markdown' results --format xml
gives 2 'an argument is missing' run

# ---- check ----
gives 0 '^plan.yaml: ok \(plan tiny: 1 cell, 2 blocks\)' check plan.yaml site.yaml
gives 0 '^site.yaml: ok \(inventory: ' check site.yaml
gives 2 '^wrong.yaml:5:10: .*did you mean "vcpus"' check wrong.yaml plan.yaml
gives 2 '^site-wrong.yaml:2:9: ' check site-wrong.yaml
gives 2 '^elsewhere.yaml:4:16: .*elsewhere' --inventory site.yaml check elsewhere.yaml
gives 0 'ok' check elsewhere.yaml
gives 3 'nothere.yaml' check nothere.yaml
gives 2 '"result": "invalid"' check --json wrong.yaml

# ---- plan ----
gives 0 'times from stated defaults' plan plan.yaml
gives 2 '^vmatrix: unknown.yaml:6:13: .*ops.int32-add' plan unknown.yaml
gives 0 '^block,position,cell,hypervisor,vcpus' plan plan.yaml --format csv --no-estimate
"$vmatrix" plan plan.yaml -o plan.json --json --no-estimate > out 2> err
holds 'with -o nothing goes to standard output' test ! -s out -a ! -s err -a -s plan.json
gives 0 '"blocks": \[' run plan.yaml --dry-run --json --no-estimate
holds 'run --dry-run gives the same bytes as plan -o' cmp -s plan.json out
holds 'nothing is left beside the file of -o' test ! -e plan.json.new
gives 3 'nothere/x: cannot create' plan plan.yaml -o nothere/x
gives 3 '/dev/full: cannot write' plan plan.yaml -o /dev/full
holds 'a device is written to, not replaced' test -c /dev/full

# ---- run, results, sql ----
gives 2 'no such database' results
gives 2 'no inventory: neither' run plan.yaml
export VMATRIX_INVENTORY=$folder/site.yaml
gives 2 'elsewhere.yaml:4:16' run elsewhere.yaml
gives 0 'ops.int32-add' run plan.yaml
holds 'a line for each finished run on standard error' \
    grep -qE '^\[2/2\] block 2  hypervisor=bare vcpus=1  clean  ' err
holds 'no escape sequences where there is no terminal' eval "! grep -q $'\033' out err"
gives 0 'earlier runs in the database' plan plan.yaml
gives 0 'ops.int32-add' results latest --where vcpus=1 --metric 'ops.*'
gives 2 'no campaign' results 99
gives 2 'no axis "color"' results --where color=red
gives 0 '^n' sql --format csv 'SELECT count(*) AS n FROM run WHERE verdict = '"'clean'"
holds 'two clean runs are in the database' test "$(tail -n 1 out | tr -d '\r')" = 2
gives 2 'refused' sql 'DELETE FROM sample'
gives 2 'no such column' sql 'SELECT color FROM run'
gives 0 'null' sql --json "SELECT NULL AS a, x'00ff' AS b, 1.5 AS c, 'ü' AS d"
holds 'every type of SQLite in JSON' python3 -c 'import json, sys
sys.exit(json.load(open("out")) != [{"a": None, "b": "00ff", "c": 1.5, "d": "ü"}])'
echo 'SELECT 7 AS seven' > query.sql
input=query.sql gives 0 '"seven": 7' sql - --json
gives 0 'ops.int32-add' agent list
gives 0 '^ops +group' workload list
gives 0 'no rows' guest list
VMATRIX_AGENT=/nowhere gives 3 '/nowhere' agent list

# ---- doctor ----
gives 0 '^ok +agent ' doctor
gives 0 '^ok +database +.*/test.db can be read and written' doctor
cat > broken.yaml <<'END'
version: 1
guests:
  g: {kernel: /nowhere/vmlinuz, initrd: /nowhere/initrd, key: nokey}
END
gives 3 '^missing +image +g: .*/nowhere' --inventory broken.yaml doctor
holds 'doctor names the missing key' grep -qE '^missing +ssh-key +g: .*/nokey: No such file' out
holds 'doctor gives the way out' grep -qE '^ +-> vmatrix guest enroll g$' out
gives 3 '"check": "host-key"' --inventory broken.yaml doctor --json
gives 2 '^vmatrix: site-wrong.yaml:2:9' doctor --inventory site-wrong.yaml
VMATRIX_AGENT=/nowhere gives 3 '^missing +agent ' doctor

# ---- the gate ----
cat > gate.yaml <<'END'
version: 1
plan: gate
axes:
  hypervisor: [bare]
workloads: [test.noop]
idle: {settle: 100ms, cpu-busy: 100%, run-queue: 100000, cpu-pressure: 100%, io-pressure: 100%, memory-pressure: 100%,
  disk-busy: 100%, disk-rate: 1TB, network-rate: 1TB, temperature: 1000K, guests: ignore, chores: ignore}
END
gives 0 '^A run would begin: it was quiet for 0.10 s' host gate gate.yaml
holds 'host gate: a row a signal' test "$(grep -cE ' (ok|absent|ignored)$' out)" = 11
gives 0 '"signal": "guests"' host gate gate.yaml --json
# A package manager is one by its name, however little it does.
cp /bin/sleep apt-get
./apt-get 60 &
chore=$!
sed -i 's/chores: ignore/chores: wait/' gate.yaml
gives 4 "package manager apt-get \\(pid $chore\\)" host gate gate.yaml
kill $chore
wait $chore
sed 's/guests: ignore/guests: no/' gate.yaml > gate-wrong.yaml
gives 2 'gate-wrong.yaml:7:[0-9]+: guests: "no" is not known' host gate gate-wrong.yaml

# ---- a killed run is a cut-short one ----
sed 's/boots: 2/boots: 40/; s/samples: 3/samples: 500/' plan.yaml > long.yaml
"$vmatrix" run long.yaml > out 2> err &
pid=$!
for _ in $(seq 100); do
    grep -q '^\[1/40\]' err && break
    sleep 0.1
done
kill -INT $pid; kill -INT $pid 2> /dev/null
wait $pid
code=$?
holds "Ctrl-C twice: exit code $code, expected 130" test $code = 130
gives 0 '^clean' sql --format csv "SELECT verdict FROM run WHERE verdict = 'clean' GROUP BY 1"

finish
