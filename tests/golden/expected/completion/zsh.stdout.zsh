#compdef lacli
# lacli: completion for zsh
_lacli() {
    local line
    local -a found
    for line in "${(@f)$("${(Q)words[1]}" completion --answer "$((CURRENT - 2))" -- \
            "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ $line == :files ]] && { _files; return }
        [[ -n $line ]] || continue
        local word=${line%%$'\t'*} help=
        [[ $line == *$'\t'* ]] && help=${line#*$'\t'}
        found+=("${word//:/\\:}:$help")
    done
    _describe -V lacli found
}
if [[ $funcstack[1] == _lacli ]]; then
    _lacli "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _lacli lacli
fi
