export const SERVING = `
serve acme
serve acme --https --open
serve acme --host 0.0.0.0 --port 8080 --drain-seconds 30

up
up --workers 2 --port 8080 -l region=eu

health
health -t acme --url http://127.0.0.1:8080

logs acme --since 2h --status 4xx
logs acme --user alice --follow
logs acme --level error -o json

deploy render --target systemd --bin /usr/bin/pmctl
deploy render --target patroni --nodes a=10.0.0.1,b=10.0.0.2

embed snippet
embed snippet --market rain --as element
embed snippet --view portfolio --theme light --locale de
embed messages
embed messages --locale pt-BR -o json
embed check --url http://127.0.0.1:8080
embed check --url http://127.0.0.1:8080 --origin https://news.example
`;
