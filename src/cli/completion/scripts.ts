/** What a shell runs to complete `kubectl-nodepool`: each asks `kubectl-nodepool __complete` and shows what it answers. */

export const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * Bash splits words at `=`, `:` and `@` too: they are joined again, and of a candidate only what follows the last of
 * them is given back, `@` with it, which readline counts to what follows. Works with bash 3.2, which macOS has, and needs no other package.
 */
const BASH = `# bash completion for kubectl-nodepool
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
    local current=\${words[count - 1]} before='' mark
    for mark in = : @; do
        if [[ $COMP_WORDBREAKS == *$mark* && $current == *$mark* ]]; then
            word=\${current%$mark*}
            if [[ $mark != @ ]]; then word+=$mark; fi
            if ((\${#word} > \${#before})); then before=$word; fi
        fi
    done
    local directive=4 candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        if [[ $candidate == :* ]]; then
            directive=\${candidate#:}
            continue
        fi
        candidate=\${candidate%%$'\\t'*}
        candidate=\${candidate#"$before"}
        if [[ $candidate == *[!A-Za-z0-9_./:@=,+%-]* ]]; then printf -v candidate %q "$candidate"; fi
        COMPREPLY+=("$candidate")
    done < <("\${words[0]/#\\~/$HOME}" __complete "\${words[@]:1:count-1}" 2>/dev/null)
    [[ $(type -t compopt) == builtin ]] || return 0
    if ((directive & 2)); then compopt -o nospace; fi
    if ((!(directive & 4))); then compopt -o default; fi
}
complete -F _kubectl_nodepool kubectl-nodepool
`;

const ZSH = `#compdef kubectl-nodepool
# zsh completion for kubectl-nodepool
_kubectl-nodepool() {
    local -a lines shown
    local line directive
    lines=("\${(@f)$("\${(Q)words[1]}" __complete "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
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
        line=\${line//:/\\\\:}
        shown+=("\${line/$'\\t'/:}")
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
    compdef _kubectl-nodepool kubectl-nodepool
fi
`;

const FISH = `# fish completion for kubectl-nodepool
function __kubectl_nodepool_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program __complete $words "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l directive $lines[-1]
    set -e lines[-1]
    if test (count $lines) -eq 0
        test "$directive" = :0; and __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current")
        return
    end
    printf '%s\\n' $lines
end
complete -c kubectl-nodepool -e
complete -c kubectl-nodepool -f -a '(__kubectl_nodepool_complete)'
`;

/** What kubectl looks for on the PATH, and asks: the same as bin/kubectl_complete-nodepool. */
const KUBECTL = `#!/bin/sh
# kubectl's completion runs this for \`kubectl nodepool\`.
exec kubectl-nodepool __complete "$@"
`;

const SCRIPTS: Record<Shell, string> = { bash: BASH, zsh: ZSH, fish: FISH, kubectl: KUBECTL };

/** The script, its last newline included. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}
