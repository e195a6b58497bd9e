# lacli: completion for fish
function __lacli_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] completion --answer (math (count $words) - 1) -- $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = ":files"
        __fish_complete_path "$current"
    else
        printf '%s\n' $lines
    end
end
complete -c lacli -e
complete -c lacli -f -a '(__lacli_complete)'
