/** Trading sessions by name, in the notation of trading-hours.ts. */
export const SESSIONS = {
  crypto: "UTC;O,O,O,O,O,O,O;",
  fx: "America/New_York;O,O,O,O,0000-1700,C,1700-2400;",
  metal:
    "America/New_York;0000-1700&1800-2400,0000-1700&1800-2400,0000-1700&1800-2400,0000-1700&1800-2400,0000-1700,C,1800-2400;",
  oil_wti:
    "America/New_York;0000-1700&1800-2400,0000-1700&1800-2400,0000-1700&1800-2400,0000-1700&1800-2400,0000-1700,C,1800-2400;",
  oil_brent:
    "America/New_York;0000-1800&2000-2400,0000-1800&2000-2400,0000-1800&2000-2400,0000-1800&2000-2400,0000-1800,C,1800-2400;",
  us_eq:
    "America/New_York;0930-1600,0930-1600,0930-1600,0930-1600,0930-1600,C,C;1126/C,1127/0930-1300,1224/0930-1300,1225/C,0101/C",
  xetra: "Europe/Berlin;0900-1730,0900-1730,0900-1730,0900-1730,0900-1730,C,C;",
  lse: "Europe/London;0800-1630,0800-1630,0800-1630,0800-1630,0800-1630,C,C;",
  jpx: "Asia/Tokyo;0900-1130&1230-1530,0900-1130&1230-1530,0900-1130&1230-1530,0900-1130&1230-1530,0900-1130&1230-1530,C,C;",
  asx: "Australia/Sydney;1000-1600,1000-1600,1000-1600,1000-1600,1000-1600,C,C;",
  hkex: "Asia/Hong_Kong;0930-1200&1300-1600,0930-1200&1300-1600,0930-1200&1300-1600,0930-1200&1300-1600,0930-1200&1300-1600,C,C;",
} as const;

export type SessionName = keyof typeof SESSIONS;

export interface Instrument {
  session: SessionName;
  /** Lowest and highest plausible price. */
  bounds: readonly [number, number];
  /** What each source calls it, the best source first. */
  symbols: Readonly<Record<string, string>>;
}

/**
 * The instruments of the built-in venue: code, session, plausible prices, symbols by source. Symbols other than Pyth's are
 * conventional names, which `pmctl oracle check` tries. Energy prices may be negative, as they were on 2020-04-20.
 * Indices, USD/AED and natural gas have no Pyth price.
 */
const TABLE = `
xau     metal     200..100000     pyth=765d2ba906dbc32ca17cc11f5310a89e9ee1f6420508c63861f2f8ba4ee34bb2 oanda=XAU_USD twelvedata=XAU/USD
xag     metal     2..2000         pyth=f2fb02c32b055c805e7238d628e5e9dadef274376114eb1f012337cabe93871e oanda=XAG_USD twelvedata=XAG/USD
eurusd  fx        0.5..2.5        pyth=a995d00bb36a63cef7fd2c287dc105fc8f3d93779f062f09551b0af3e81ec30b oanda=EUR_USD twelvedata=EUR/USD
gbpusd  fx        0.5..3          pyth=84c2dde9633d93d1bcad84e7dc41c9d56578b7ec52fabedc1f335d673df0a7c1 oanda=GBP_USD twelvedata=GBP/USD
usdjpy  fx        50..500         pyth=ef2c98c804ba503c6a707e38be4dfbb16683775f195b091252bf24693042fd52 oanda=USD_JPY twelvedata=USD/JPY
usdchf  fx        0.3..3          pyth=0b1e3297e69f162877b577b0d6a47a0d63b2392bc8499e6540da4187a63e28f8 oanda=USD_CHF twelvedata=USD/CHF
audusd  fx        0.3..2          pyth=67a6f93030420c1c9e3fe37c1ab6b77966af82f995944a9fefce357a22854a80 oanda=AUD_USD twelvedata=AUD/USD
usdcad  fx        0.5..3          pyth=3112b03a41c910ed446852aacf67118cb1bec67b2cd0b9a214c58cc0eaa2ecca oanda=USD_CAD twelvedata=USD/CAD
nzdusd  fx        0.3..2          pyth=92eea8ba1b00078cdc2ef6f64f091f262e8c7d0576ee4677572f314ebfafa4c7 oanda=NZD_USD twelvedata=NZD/USD
eurgbp  fx        0.4..2          pyth=c349ff6087acab1c0c5442a9de0ea804239cc9fd09be8b1a93ffa0ed7f366d9c oanda=EUR_GBP twelvedata=EUR/GBP
eurjpy  fx        50..600         pyth=d8c874fa511b9838d094109f996890642421e462c3b29501a2560cecf82c2eb4 oanda=EUR_JPY twelvedata=EUR/JPY
usdaed  fx        3.5..4          twelvedata=USD/AED
usdsgd  fx        0.8..3          pyth=396a969a9c1480fa15ed50bc59149e2c0075a72fe8f458ed941ddec48bdb4918 oanda=USD_SGD twelvedata=USD/SGD
usdzar  fx        5..60           pyth=389d889017db82bf42141f23b61b8de938a4e2d156e36312175bebf797f493f1 oanda=USD_ZAR twelvedata=USD/ZAR
btc     crypto    1000..10000000  pyth=e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43 coinbase=BTC-USD kraken=XBTUSD bitstamp=btcusd
eth     crypto    10..1000000     pyth=ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace coinbase=ETH-USD kraken=ETHUSD bitstamp=ethusd
sol     crypto    0.5..100000     pyth=ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d coinbase=SOL-USD kraken=SOLUSD bitstamp=solusd
bnb     crypto    5..100000       pyth=2f95862b045670cd22bee3114c39763a4a08beeb663b145d283c31d7d1101c4f kraken=BNBUSD
xrp     crypto    0.01..1000      pyth=ec5d399846a9209f3fe5881d70aae9268c94339ff9817e8d18ff19fa05eea1c8 coinbase=XRP-USD kraken=XRPUSD bitstamp=xrpusd
ada     crypto    0.01..1000      pyth=2a01deaec9e51a579277b34b122399984d0bbf57e2458a7e42fecd2829867a0d coinbase=ADA-USD kraken=ADAUSD bitstamp=adausd
avax    crypto    0.5..100000     pyth=93da3352f9f1d105fdfe4971cfa80e9dd777bfc5d0f683ebb6e1294b92137bb7 coinbase=AVAX-USD kraken=AVAXUSD bitstamp=avaxusd
spx     us_eq     500..50000      oanda=SPX500_USD twelvedata=SPX
nas100  us_eq     1000..200000    oanda=NAS100_USD twelvedata=NDX
us30    us_eq     5000..500000    oanda=US30_USD twelvedata=DJI
ger40   xetra     2000..200000    oanda=DE30_EUR twelvedata=GDAXI
uk100   lse       1000..100000    oanda=UK100_GBP twelvedata=FTSE
jp225   jpx       5000..500000    oanda=JP225_USD twelvedata=N225
aus200  asx       1000..100000    oanda=AU200_AUD twelvedata=AXJO
hk50    hkex      2000..200000    oanda=HK33_HKD twelvedata=HSI
brent   oil_brent -100..1000      pyth=27f0d5e09a830083e5491795cac9ca521399c8f7fd56240d09484b14e614d57a oanda=BCO_USD twelvedata=XBR/USD
wti     oil_wti   -100..1000      pyth=925ca92ff005ae943c158e3563f59698ce7e75c5a8c8dd43303a0a154887b3e6 oanda=WTICO_USD twelvedata=WTI/USD
ngas    oil_wti   -10..200        oanda=NATGAS_USD twelvedata=NG/USD
aapl    us_eq     1..100000       pyth=49f6b65cb1de6b10eaf75e7c03ca029c306d0357e91b5311b175084a5ad55688 twelvedata=AAPL finnhub=AAPL massive=AAPL
tsla    us_eq     1..100000       pyth=16dad506d7db8da01c87581c87ca897a012a153557d4d578c3b9c9e1bc0632f1 twelvedata=TSLA finnhub=TSLA massive=TSLA
nvda    us_eq     1..100000       pyth=b1073854ed24cbc755dc527418f52b7d271f6cc967bbf8d8129112b18860a593 twelvedata=NVDA finnhub=NVDA massive=NVDA
amzn    us_eq     1..100000       pyth=b5d0e0fa58a1f8b81498ae670ce93c872d14434b72c364885d4fa1b257cbb07a twelvedata=AMZN finnhub=AMZN massive=AMZN
msft    us_eq     1..100000       pyth=d0ca23c1cc005e004ccf1db5bf76aeb6a49218f43dac3d4b275e92de12ded4d1 twelvedata=MSFT finnhub=MSFT massive=MSFT
googl   us_eq     1..100000       pyth=5a48c03e9b9cb337801073ed9d166817473697efff0d138874e0f6a33d6d5aa6 twelvedata=GOOGL finnhub=GOOGL massive=GOOGL
meta    us_eq     1..100000       pyth=78a3e3b8e676a8f73c439f5d749737034b139bbbe899ba5775216fba596607fe twelvedata=META finnhub=META massive=META
xom     us_eq     1..100000       pyth=4a1a12070192e8db9a89ac235bb032342a390dde39389b4ee1ba8e41e7eae5d8 twelvedata=XOM finnhub=XOM massive=XOM
jpm     us_eq     1..100000       pyth=7f4f157e57bfcccd934c566df536f34933e74338fe241a5425ce561acdab164e twelvedata=JPM finnhub=JPM massive=JPM
`;

export const INSTRUMENTS: Readonly<Record<string, Instrument>> = Object.fromEntries(
  TABLE.trim()
    .split("\n")
    .map((line) => {
      const [code = "", session = "", bounds = "", ...symbols] = line.split(/ +/);
      const [lowest, highest] = bounds.split("..").map(Number);
      const instrument: Instrument = {
        session: session as SessionName,
        bounds: [Number(lowest), Number(highest)],
        symbols: Object.fromEntries(symbols.map((symbol) => symbol.split("="))),
      };
      return [code, instrument];
    }),
);
