/**
 * The completion scripts of the shells, for `kubectl-nodepool` and `kubectl nodepool`: each calls `kubectl-nodepool
 * __completeWords` and shows its answer. kubectl's own script, which may be loaded before, later or never, still
 * completes all other kubectl commands.
 */

export const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * Bash passes words as typed, with quotes, and also splits them at `=`, `:` and `@`: the script joins them again and
 * removes quotes without evaluating anything. It replies with the part of a candidate after the last of these
 * characters (from the `@` on, as readline counts it), or inside quotes with the part after the quote. Works with bash
 * 3.2 of macOS, without bash-completion.
 */
const BASH = `# bash completion for kubectl-nodepool
# Sets plain to a word without its quotes, open to the quote that is not closed, and start to where in plain that was.
_kubectl_nodepool_unquote() {
    local rest=$1 char
    plain='' open='' start=0
    while [[ -n $rest ]]; do
        char=\${rest:0:1}
        rest=\${rest:1}
        if [[ $char == \\\\ && $open != \\' ]]; then
            plain+=\${rest:0:1}
            rest=\${rest:1}
        elif [[ -z $open && $char == [\\'\\"] ]]; then
            open=$char
            start=\${#plain}
        elif [[ $char == "$open" ]]; then
            open=''
        else
            plain+=$char
        fi
    done
}
_kubectl_nodepool() {
    local line=$COMP_LINE rest word words=() count=0 i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=\${line#"\${line%%[![:space:]]*}"}
        word=\${COMP_WORDS[i]}
        if ((i == COMP_CWORD)) && [[ -n $word ]]; then word=\${word:0:$((COMP_POINT - \${#COMP_LINE} + \${#rest}))}; fi
        if ((i == 0)) || [[ $rest != "$line" ]]; then
            words[count]=$word
            count=$((count + 1))
        else
            words[count - 1]+=$word
        fi
        line=\${rest#"\${COMP_WORDS[i]}"}
    done
    local plain open start
    for ((i = 0; i < count; i++)); do
        _kubectl_nodepool_unquote "\${words[i]}"
        words[i]=$plain
    done
    if [[ \${words[1]} == nodepool ]] && ((count > 2)); then
        words=(kubectl-nodepool "\${words[@]:2}")
        count=$((count - 1))
    fi
    local before='' mark
    if [[ -n $open ]]; then
        before=\${plain:0:start}
    else
        for mark in = : @; do
            if [[ $COMP_WORDBREAKS == *$mark* && $plain == *$mark* ]]; then
                word=\${plain%$mark*}
                if [[ $mark != @ ]]; then word+=$mark; fi
                if ((\${#word} > \${#before})); then before=$word; fi
            fi
        done
    fi
    local directive=4 candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        if [[ $candidate == :[0-9] ]]; then
            directive=\${candidate#:}
            continue
        fi
        candidate=\${candidate%%$'\\t'*}
        candidate=\${candidate#"$before"}
        if [[ -n $open ]]; then
            # What would need more than these quotes cannot be typed on in them.
            case $open$candidate in \\'*\\'* | \\"*[\\"\\\\\\$\\\`!]*) continue ;; esac
        elif [[ $candidate == *[!A-Za-z0-9_./:@=,+%-]* ]]; then
            printf -v candidate %q "$candidate"
        fi
        COMPREPLY+=("$candidate")
    done < <("\${words[0]/#\\~/$HOME}" __completeWords "\${words[@]:1:count-1}" 2>/dev/null)
    [[ $(type -t compopt) == builtin ]] || return 0
    if ((directive & 2)); then compopt -o nospace; fi
    if ((directive & 4)); then compopt +o default; else compopt -o default; fi
}
complete -F _kubectl_nodepool kubectl-nodepool
# kubectl's own function gets another name: here if its script is loaded, through the alias if it is loaded later.
unalias __start_kubectl 2>/dev/null
_kubectl_nodepool_base=$(declare -f __start_kubectl)
if [[ -n $_kubectl_nodepool_base && $_kubectl_nodepool_base != *_kubectl_nodepool* ]]; then
    eval "_kubectl_nodepool_others\${_kubectl_nodepool_base#__start_kubectl}"
fi
unset _kubectl_nodepool_base
function __start_kubectl {
    if [[ \${COMP_WORDS[1]} == nodepool ]] && ((COMP_CWORD > 1)); then
        _kubectl_nodepool
        return
    fi
    # bash-completion loads scripts at the first TAB.
    declare -F _kubectl_nodepool_others >/dev/null || __load_completion kubectl 2>/dev/null
    declare -F _kubectl_nodepool_others >/dev/null && _kubectl_nodepool_others "$@"
}
alias __start_kubectl=_kubectl_nodepool_others
complete -p kubectl &>/dev/null || complete -o default -F __start_kubectl kubectl
`;

/** zsh calls functions for a pattern (-p) before the function for the name, which kubectl's own script sets. */
const ZSH = `#compdef kubectl-nodepool -p kubectl
# zsh completion for kubectl-nodepool
_kubectl-nodepool() {
    local -a lines shown
    local line directive tab=$'\\t' program=\${(Q)words[1]}
    local -i first=2
    if [[ \${program:t} == kubectl ]]; then
        (( CURRENT > 2 )) && [[ $words[2] == nodepool ]] || return 1
        # kubectl's own script is not asked as well.
        _compskip=all
        program=kubectl-nodepool
        first=3
    fi
    lines=("\${(@f)$("$program" __completeWords "\${(@Q)words[first,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
    directive=\${lines[-1]#:}
    [[ $directive == <-> ]] || return 1
    lines[-1]=()
    if (( $#lines == 0 )); then
        if (( !(directive & 4) )); then
            [[ $PREFIX == -*=* ]] && compset -P '*='
            _files
        fi
        return
    fi
    for line in $lines; do
        # _describe takes the first colon that has no backslash for the end of the value.
        line=\${\${line//\\\\/\\\\\\\\}//:/\\\\:}
        shown+=("\${line/$tab/:}")
    done
    if (( directive & 2 )); then
        _describe 'nodepool' shown -S ''
    else
        _describe 'nodepool' shown
    fi
}
if [[ \${funcstack[1]} == _kubectl-nodepool ]]; then
    _kubectl-nodepool "$@"
else
    compdef _kubectl-nodepool kubectl-nodepool -p kubectl
fi
`;

/** kubectl's own script erases the completions of kubectl, but not those of commands that wrap it. */
const FISH = `# fish completion for kubectl-nodepool
function __kubectl_nodepool_complete
    set -l words (commandline -opc)
    # As typed; a quote may still be open.
    set -l typed (commandline -ct)
    set -l current (string unescape -- "$typed"; or string unescape -- "$typed'"; or string unescape -- "$typed\\"")
    set -l program $words[1]
    set -e words[1]
    if test "$words[1]" = nodepool
        set program kubectl-nodepool
        set -e words[1]
    end
    set -l lines ($program __completeWords $words "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l directive $lines[-1]
    set -e lines[-1]
    if test (count $lines) -eq 0
        test "$directive" = :0; or return
        set -l prefix (string match -r -- '^--[^=]*=' "$current")
        for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
            printf '%s\\n' "$prefix$path"
        end
        return
    end
    printf '%s\\n' $lines
end
complete -c kubectl-nodepool -e
complete -c kubectl-nodepool -f -a '(__kubectl_nodepool_complete)'
function __kubectl_nodepool_is_plugin
    set -l words (commandline -opc)
    test "$words[2]" = nodepool
end
complete -c kubectl -w __kubectl_with_nodepool
complete -c __kubectl_with_nodepool -e
complete -c __kubectl_with_nodepool -n __kubectl_nodepool_is_plugin -f -a '(__kubectl_nodepool_complete)'
`;

/** The executable that kubectl's completion calls; the same text as bin/kubectl_complete-nodepool. */
const KUBECTL = `#!/bin/sh
# kubectl's completion runs this for \`kubectl nodepool\`.
exec kubectl-nodepool __complete "$@"
`;

const SCRIPTS: Record<Shell, string> = { bash: BASH, zsh: ZSH, fish: FISH, kubectl: KUBECTL };

/** Includes the last newline. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}
