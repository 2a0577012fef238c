"""Shell scripts that ask `holdfast` for completion candidates. Pure."""

from __future__ import annotations

from types import MappingProxyType

BASH = r"""# holdfast for bash: eval "$(holdfast completion bash)", in ~/.bashrc
_holdfast() {
    local line="${COMP_LINE:0:COMP_POINT}" word cut=""
    local current="${line##*[[:space:]]}"
    case "$current" in *[:=]*) cut="${current%"${current##*[:=]}"}" ;; esac # bash splits words at these
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        COMPREPLY+=("${word#"$cut"}")
    done < <(holdfast completion --line "$line" 2>/dev/null)
}
complete -o bashdefault -o default -F _holdfast holdfast
"""

ZSH = r"""#compdef holdfast
# holdfast for zsh: source <(holdfast completion zsh), in ~/.zshrc
_holdfast() {
    local -a lines values shown
    local each
    lines=("${(@f)$(holdfast completion --line "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    for each in "${lines[@]}"; do
        [[ -n "$each" ]] || continue
        values+=("${each%%$'\t'*}")
        shown+=("${each/$'\t'/  }")
    done
    if (( ${#values} )); then
        compadd -V holdfast -l -d shown -a values # in this order: the newest session first
    else
        _files
    fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _holdfast holdfast
"""

FISH = r"""# holdfast for fish: holdfast completion fish > ~/.config/fish/completions/holdfast.fish
function __holdfast_next
    holdfast completion --line (commandline -cp | string collect) 2>/dev/null
end
complete -c holdfast -k -f -n 'count (__holdfast_next) >/dev/null' -a '(__holdfast_next)'
"""

SCRIPTS = MappingProxyType({"bash": BASH, "zsh": ZSH, "fish": FISH})
