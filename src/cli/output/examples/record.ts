export const RECORD = String.raw`
audit list --since 24h --user alice
audit list --type market.settled -o csv
audit list --market rain --follow
audit show 41
audit show 41 -o json --fields sentence
audit verify
audit verify --anchor anchors.ndjson
audit status
audit status -o json
audit anchors
audit anchors -o json --fields seq,standing
audit security
audit security --since 7d --event auth.failed
audit refusals
audit refusals --code MAX_TRADE_EXCEEDED -o json
audit export --out acme.ndjson
audit export -t zoe --out zoe.ndjson
audit accept-rollback --reason "disk lost, restored from Monday"
audit accept-rollback --reason "disk lost, restored from Monday" --yes
audit accept-finding 41 --reason "bob was paid, ticket 4711"
audit accept-finding 41 --reason "bob was paid, ticket 4711" --yes

story rain
story rain --out rain.html
story --verify rain.html

why trd_90ab12
why req_Zk3f9Qx2-41

replay acme
replay acme --to 41 -o json --fields house,differences

reconcile
reconcile --explain

webhook send deposit.completed --set userId=alice --set amountUsd=100
webhook send kyc.passed --set userId=bob --set jurisdiction=GB
webhook send kyc.failed --set provider=idv --as-provider --reason mail
webhook sign --body event.json
webhook sign --body event.json --scheme v2 --endpoint kyc
webhook verify --body event.json --signature "$SIGNATURE"
webhook verify --body event.json --signature "$SIGNATURE" \
    --id "$ID" --timestamp "$TIME"
webhook deliveries
webhook deliveries --receiver crm --status dead --user alice
webhook delivery "$DELIVERY"
webhook delivery "$DELIVERY" -o json --fields body
webhook replay "$DELIVERY"
webhook replay "$EVENT" --reason "the receiver had lost it"
webhook inbound
webhook inbound --provider stripe
webhook received payments "$SHA256"
webhook received payments "$SHA256" -o json --fields body
webhook receivers
webhook receivers -o json
webhook enable crm
webhook enable crm --reason "it is back"
webhook test crm
webhook test crm --reason "its new address"
webhook listen --print-secret
webhook listen --forward-to http://localhost:3000/hook

db status
db status -o json --fields running,version
db backup
db backup monday.backup.gz
# asks first; the database as it was is kept beside it
db restore monday.backup.gz
db restore monday.backup.gz --into ACME_NEW_URL
db migrate
db migrate -t zoe
db shell
db shell < query.sql
db start
db start -o json
db stop
db stop --yes

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
