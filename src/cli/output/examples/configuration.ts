export const CONFIGURATION = `
init acme
init acme --ci github --base-url https://predict.acme.com

demo
demo --port 8080 --no-crowd

doctor
doctor acme -o json

status
status acme -o json

inbox
# money alone, and what ends within a week
inbox --kind withdrawal --kind key --within 7d

validate
validate 'a*' -o github

test
test acme --case 'over*' --coverage
test --all --junit cases.xml

plan
plan acme --detailed-exitcode
plan acme --target policy.feeBps --out acme.plan.json
plan acme --replay 30d -o markdown

approve acme.plan.json
# approve it as the holder of another key, through its server
approve acme.plan.json --url https://predict.acme.com

apply acme
apply acme --dry-run --accept-loosening
apply --plan acme.plan.json --dry-run
apply -l region=eu --reason "fees for the final"

freeze acme --until "friday 18:00 Europe/Berlin" --reason "the final"
freeze acme --off

drift acme
drift --all -o json

pull acme
pull acme --write
pull acme --markets
pull acme --markets --write

history acme --limit 5
history -o json --fields seq,ts,gitCommit
history show 41
history show 41 -o json --fields changes
history diff 41 57
history diff 41 57 -o markdown

rollback acme --to 41
rollback acme --to 57 --accept-loosening --reason "incident 12"

render acme
render acme -o csv --fields path,value,origin

explain tenant.policy.feeBps
explain KYC_REQUIRED
explain audit.market.settled
explain fleet.waves -o json

docs
docs first-market --port 8088

schema tenant
schema openapi > openapi.json

tenant list
tenant list -l region=eu,tier!=gold
tenant show acme
tenant show zoe -o json

fleet plan
fleet plan --detailed-exitcode
# again, it goes on where it ended
fleet apply --yes
# every wave and gate anew
fleet apply --yes --restart
fleet status
fleet status -o json
fleet drift
fleet drift -o json

policy show
policy show --fields feeBps,maxTradeUsd
policy set feeBps=80
# ends by itself
policy set maxTradeUsd=50 --ttl 2h --reason "incident 12"

key list
key list -o json --fields name,lastUsedAt
key create app --type public
key create ci --type admin --scopes read --expires 90d -o json
key rotate app
key rotate app --leaked --reason "seen in a log"
key rotate --type webhook --overlap 24h
key revoke app
key revoke ci --type admin --reason "left the team"

serve acme
serve acme --https --open
serve acme --host 0.0.0.0 --port 8080 --drain-seconds 30

up
up --shared --port 8080 -l region=eu

console acme
console --open

health
health -t acme --url http://127.0.0.1:8080

logs acme --since 2h --status 4xx
logs acme --user alice --follow
logs acme --level error -o json

deploy render acme --target systemd --bin /usr/bin/pmctl
deploy render acme --target patroni --nodes a=10.0.0.1,b=10.0.0.2

embed snippet
embed snippet --market rain --as element
embed snippet --view portfolio --theme light --locale de
embed messages
embed messages --locale pt-BR -o json
embed check --url http://127.0.0.1:8080
embed check --url http://127.0.0.1:8080 --origin https://news.example
`;
