export const PEOPLE = `
user list --state restricted
user list --q ali --min-exposure 10 -o csv
user list --min-owed 0.01
user show alice
user show alice -o json --fields balanceUsd
user orders alice
user orders alice --market rain --limit 10
user statement alice
user statement alice -o csv > alice.csv
user portfolio alice
user portfolio alice -o json
user eligibility alice
user eligibility alice --market rain
user story alice
user story alice --out alice.html
user restrict bob
user restrict bob --reason "chargeback, ticket 311"
user release bob
user release bob --reason "ticket 311 is settled"
user session alice
user session alice -o json
user token alice
user token alice --ttl 10m

suitability submit --user alice --answers '{"q1": 3, "q2": 4}'
suitability submit --user bob --answers '{"q1": 4}' --reason "phone"
suitability show --user alice
suitability show --user alice -o json --fields score

funding list --status pending
funding list --user alice --limit 10 -o json
funding request --user alice --amount 25
funding request --user alice --amount 25 -o json --fields withdrawalId
funding approve wdr_5c1f20 --reason "account checked"
funding approve wdr_5c1f20 --reason "account checked" --yes
funding reject wdr_5c1f20 --reason "another name on the account"
funding reject wdr_5c1f20 --reason "another name on the account" --yes
funding credit --user alice --amount 20 --reason "ticket 311"
funding credit --user carol --amount 20 --reason "ticket 3" --new-user
funding debit --user alice --amount 20 --reason "not alice"
funding debit --user alice --amount 20 --reason "not alice" --yes

user revoke alice
user revoke alice --before 2h --reason "lost a phone"

proposal list
proposal list --status pending -o json
proposal show prp_7d2e41
proposal show prp_7d2e41 -o json
proposal approve prp_7d2e41
proposal approve prp_7d2e41 --yes
proposal reject prp_7d2e41 --reason "the source is wrong"
proposal reject prp_7d2e41 --reason "the source is wrong" --yes
proposal execute prp_7d2e41
proposal execute prp_7d2e41 --yes
proposal object @last --user alice --reason "it did rain"
proposal object rain --user alice --reason "it did rain" -o json

report overview
report overview --days 30
report daily
report daily --days 7 -o csv
report house --days 7
report house --days 7 -o markdown
report traders
report traders --days 30 --user alice -o csv
report funding
report funding --days 30 -o csv
report risk
report risk -o csv

risk
risk --status suspended,closed

hedge
hedge -o json
`;
