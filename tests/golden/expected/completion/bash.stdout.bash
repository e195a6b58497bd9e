# lacli: completion for bash (also the 3.2 of macOS)
_lacli() {
    local line IFS=$' \t\n'
    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        [ "$line" = ":files" ] && return
        COMPREPLY+=("$line")
    done < <("$1" completion --answer "$((COMP_CWORD - 1))" -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _lacli lacli
