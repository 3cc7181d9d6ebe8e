export const MARKETS = String.raw`
market list
market list --status waiting
market list -o json --fields id,question,yesPrice
market search rain Sunday
market search rain --status all -o tsv
market show rain
market show rain -o json --fields yesPrice,volume
# asks on a terminal for all that a market needs
market create
market create --key snow --question "Will it snow on Sunday?" \
    --category weather --kind lmsr --p0 0.4 --close-at 7d \
    --resolution-ref "weather service"
market create -f snow-in-june.yaml
market settle rain --outcome yes --preview
market settle snow --outcome no --reason "no snow on Sunday"
market suspend rain
market suspend @last --reason "the weather service is down"
market resume rain
market resume @last --reason "it is up again"
market clarify rain --text "Rain at the airport's station counts."
market clarify @last --reason "users asked" \
    --text "A drizzle of less than 0.1 mm is no rain."
market void snow-in-june --preview
market void snow-in-june --reason "no station" --max-treasury 50
market correct snow --outcome yes --preview
market correct snow --outcome yes --reason "the late report"
market history rain
market history rain -o csv
market depth rain
market depth rain -o json
market positions rain
market positions rain -o csv
market trending
market trending -o json
market watch
market watch -o ndjson

trade quote --market rain --side yes --amount 25
trade quote --market rain --side yes --shares 10 --user alice
trade buy --market rain --side yes --amount 25 --user alice
trade buy --market rain --side yes --amount 25 --user alice \
    --min-shares 40
trade sell --market rain --side yes --shares 10 --user alice
trade sell --market rain --side yes --shares 5 --user alice \
    --min-avg-price 0.3

position list --user alice
position list --user alice -o csv

oracle status
oracle status -o json
oracle feeds
oracle feeds -o json --fields feed
oracle samples pm:btc
oracle samples pm:btc -o json --fields sources
oracle sources
oracle sources -o json
oracle check
oracle check pm:btc pm:eth
oracle sweep
oracle sweep --via db
`;
