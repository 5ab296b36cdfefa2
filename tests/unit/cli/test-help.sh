#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --help, the man pages and the bash completion must name the same commands, options and exit codes.
# Usage: test-help.sh VMATRIX VMATRIXD SOURCE-ROOT
# A command's name may be two words: it is split on purpose.
# shellcheck disable=SC2086
set -u
vmatrix=$1 vmatrixd=$2 root=$3
man=$root/daemon/cli/vmatrix.1.scd man8=$root/daemon/cli/vmatrixd.8.scd
completion=$root/contrib/completions/vmatrix.bash
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
n=0 failed=0

# same NAME EXPECTED GOT: two lists, a thing a line
same()
{
    n=$((n + 1))
    if [[ -n $2 && $2 == "$3" ]]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        diff <(echo "$2") <(echo "$3") | sed 's/^/# /'
        failed=1
    fi
}

# "  -o, --output FILE   text" -> "-o, --output FILE"
help_options() { sed -nE 's/^ +((-., )?--[a-z-]+( [A-Z=]+)?) .*/\1/p' | sort; }
# "*-o*, *--output* _FILE_" -> "-o, --output FILE"
man_options() { grep -E '^\*-' | tr -d '*_' | sort; }
# Lines of stdin after the one that is $1, up to the next that matches $2.
part() { awk -v from="$1" -v to="$2" '$0 == from {on = 1; next} on && $0 ~ to {exit} on'; }
# "guest enroll NAME" -> "guest enroll"
command_names() { sed -E 's/ *[^a-z ].*//' | sort; }

commands=$("$vmatrix" --help | sed -nE 's/^  ([a-z].*[^ ])  +.*/\1/p' | command_names)
headings=$(sed -n 's/^## vmatrix //p' "$man" | command_names)
same 'every command is in the man page, and no other' "$commands" "$headings"

same 'options of all commands' "$("$vmatrix" --help | help_options)" \
    "$(part '# OPTIONS' '^# ' < "$man" | man_options)"

while read -r name; do
    heading=$(grep -E "^## vmatrix $name( [^a-z]|$)" "$man")
    # Two words that hold the place of an empty list: a command may have no options of its own.
    shown=$("$vmatrix" $name --help | part 'Options' '^$' | help_options)
    told=$(part "$heading" '^#' < "$man" | man_options)
    same "options of $name" "options: $shown" "options: $told"
    same "$name --help has usage and an example" "2" \
        "$("$vmatrix" $name --help | grep -cE "^usage: vmatrix $name |^  vmatrix $name")"
done <<< "$commands"

codes=$("$vmatrix" --help | sed -n '/^Exit codes/,/\./p' | grep -oE '\b[0-9]+\b' | sort -n)
same 'exit codes' "$codes" \
    "$(part '# EXIT STATUS' '^# ' < "$man" | sed -nE 's/^\*([0-9]+)\*$/\1/p' | sort -n)"

same 'options of vmatrixd' "$("$vmatrixd" --help | help_options)" \
    "$(part '# OPTIONS' '^# ' < "$man8" | man_options)"

"$vmatrixd" --inventroy x > /dev/null 2>&1
same 'vmatrixd refuses an unknown option' 2 $?
"$vmatrixd" now > /dev/null 2>&1
same 'vmatrixd refuses a word' 2 $?

# complete_words WORD...: what bash would offer for the last word
complete_words()
{
    bash -c 'shopt -s extglob; source "$1"; shift; COMP_WORDS=(vmatrix "$@"); COMP_CWORD=$#; _vmatrix
             printf "%s\n" "${COMPREPLY[@]}"' - "$completion" "$@" | sort -u
}
same 'completion of first words' "$(cut -d' ' -f1 <<< "$commands" | sort -u)" "$(complete_words '')"
grep ' ' <<< "$commands" | cut -d' ' -f1 | sort -u > "$scratch"
while read -r family; do
    same "completion of $family" "$(sed -n "s/^$family //p" <<< "$commands" | sort)" \
        "$(complete_words "$family" '')"
done < "$scratch"
while read -r name; do
    same "completion of options of $name" \
        "$("$vmatrix" $name --help | help_options | grep -oE -- '--[a-z-]+' | sort -u)" \
        "$(complete_words $name --)"
done <<< "$commands"

awk '/^## A plan/ {on = 1} on && /^    / {print substr($0, 5); seen = 1; next} on && seen {exit}' \
    "$root/README.md" > "$scratch"
same "README's plan is valid for the example's site" 0 \
    "$("$vmatrix" check -q "$scratch" --inventory "$root/configs/inventory/example.yaml" 2>&1; echo $?)"
same "README's exit codes" "$codes" \
    "$(sed -nE 's/^\| ([0-9]+) \|.*/\1/p' "$root/README.md" | sort -n)"

echo "1..$n"
exit $failed
