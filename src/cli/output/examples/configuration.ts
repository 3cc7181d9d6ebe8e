export const CONFIGURATION = `
validate
validate 'a*' -o github

test
test acme --case 'over*' --coverage
test --all --junit cases.xml

plan
plan acme --detailed-exitcode
plan acme --target policy.feeBps --out acme.plan.json
plan acme --replay 30d -o markdown

apply acme
apply acme --dry-run --accept-loosening
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

freeze acme --until 2h --reason "the final is on"
freeze acme --off

rollback acme --to 41
rollback acme --to 57 --accept-loosening --reason "incident 12"

render acme
render acme -o csv --fields path,value,origin

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
key rotate --type webhook --overlap 24h
key revoke app
key revoke ci --type admin --reason "left the team"
`;
