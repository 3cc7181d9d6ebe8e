export const COMMAND_LINE = `
completion bash > ~/.local/share/bash-completion/completions/pmctl
completion zsh > ~/.zsh/functions/_pmctl

help market settle
help errors MARKET_CLOSED
help exit-codes

version
version -o json
`;
