export const COMMAND_LINE = `
completion bash > ~/.local/share/bash-completion/completions/pmctl
completion zsh > ~/.zsh/functions/_pmctl

completion values markets > markets.txt
completion values policy fee -o json

help market settle
help errors MARKET_CLOSED
help exit-codes

version
version -o json
`;
