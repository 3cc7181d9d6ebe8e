export const MARKETS = String.raw`
market list
market list --status waiting
market list -o json --fields id,question,yesPrice
market show rain
market show rain -o json --fields yesPrice,volume
# asks on a terminal for all that a market needs
market create
market create --key snow --question "Will it snow on Sunday?" \
    --category weather --kind lmsr --p0 0.4 --close-at 7d \
    --resolution-ref "weather service"
market create -f snow-in-june.yaml
market settle rain --outcome yes --preview
market settle snow --outcome no
market suspend rain
market suspend @last --reason "the weather service is down"
market resume rain
market resume @last --reason "it is up again"
market history rain
market history rain -o csv
market depth rain
market depth rain -o json
market trending
market trending -o json
market watch
market watch -o ndjson

trade quote --market rain --side yes --amount 25
trade quote --market rain --side yes --shares 10 --user alice
trade quote --market rain --side yes --amount 25 --user alice --hold
trade place --market rain --side yes --amount 25 --user alice
trade place --market rain --side yes --amount 25 --user alice \
    --quote "$QUOTE"
trade place --market rain --side yes --shares 10 --user alice

position list --user alice
position list --user alice -o csv

oracle status
oracle status -o json
oracle feeds
oracle feeds -o json --fields feed
oracle sources
oracle sources -o json
oracle check
oracle check pm:btc pm:eth
oracle sweep
oracle sweep --via db
`;
