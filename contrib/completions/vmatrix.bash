# SPDX-License-Identifier: GPL-3.0-or-later
# Completion of vmatrix(1) for bash: source it, or install it as
# /usr/share/bash-completion/completions/vmatrix.
# shellcheck shell=bash disable=SC2207

_vmatrix()
{
    local all='--db --inventory --format --json --output --no-color --verbose --quiet --help --version'
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local words=() word skip='' options=$all names=''

    # The words before this one that are neither options nor their values.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ -n $skip ]]; then
            skip=''
        elif [[ $word == --@(db|inventory|format|output|where|set|metric|hypervisor|work|at|priority) || $word == -o ]]; then
            skip=yes
        elif [[ $word != -* ]]; then
            words+=("$word")
        fi
    done

    case $previous in
    --format)
        COMPREPLY=($(compgen -W 'table csv json markdown' -- "$current"))
        return ;;
    --db | --inventory | --output | -o)
        COMPREPLY=($(compgen -f -- "$current"))
        return ;;
    --work)
        COMPREPLY=($(compgen -d -- "$current"))
        return ;;
    --where | --set | --metric | --hypervisor | --at | --priority)
        return ;;
    esac

    case ${words[*]} in
    '') names='check plan run submit status watch log pause resume cancel retry summary results sql
              doctor guest agent workload host' ;;
    guest) names='enroll list' ;;
    host) names='show gate tune restore' ;;
    agent | workload) names='list' ;;
    check* ) COMPREPLY=($(compgen -f -- "$current")) ;;
    plan*) options="$all --no-estimate" COMPREPLY=($(compgen -f -- "$current")) ;;
    run*) options="$all --dry-run --no-estimate --work" COMPREPLY=($(compgen -f -- "$current")) ;;
    submit*) options="$all --at --priority" COMPREPLY=($(compgen -f -- "$current")) ;;
    status*) options="$all --all" ;;
    log*) options="$all --console --raw" ;;
    results*) options="$all --where --metric" ;;
    doctor*) options="$all --work" ;;
    'host gate'*) COMPREPLY=($(compgen -f -- "$current")) ;;
    'host tune'*) options="$all --set" COMPREPLY=($(compgen -f -- "$current")) ;;
    'guest enroll'*) options="$all --hypervisor --work" ;;
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ -n $names ]]; then
        COMPREPLY=($(compgen -W "$names" -- "$current"))
    fi
}

complete -F _vmatrix vmatrix
