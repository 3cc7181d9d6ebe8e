import { DAY_MS, MINUTE_MS } from "../time/units.ts";
import type { HttpSource } from "./source.ts";

const TIMEOUT_MS = 5000;
/** Some exchanges refuse requests without a user agent. */
const AGENT = { "user-agent": "pmctl" };

/** A source with a predefined name. */
interface Preset extends HttpSource {
  /** The source's names for the instruments of the built-in venue, by their codes. */
  symbols: ReadonlyMap<string, string>;
}

const preset = ({
  symbols = new Map(),
  ...source
}: Omit<HttpSource, "kind" | "timeoutMs"> & Partial<Preset>): Preset => ({
  kind: "http",
  timeoutMs: TIMEOUT_MS,
  symbols,
  ...source,
});

/** `xau=XAU_USD eurusd=EUR_USD` */
function symbolsIn(text: string): Map<string, string> {
  return new Map(
    text
      .trim()
      .split(/\s+/)
      .map((symbol) => {
        const [code = "", name = ""] = symbol.split("=");
        return [code, name];
      }),
  );
}

/**
 * Known sources of prices, the best first. A tenant file names them and may change every part. A new source is a row
 * here: its hosts are those of its addresses, and the built-in feeds take the symbols from it. `needs` lists what only
 * the tenant can know. Errors with status 200 are caught by `okWhen`, or by a missing price or time. Symbols other than
 * Pyth's are conventional names, which `pmctl oracle check` tries. Indices, USD/AED and natural gas have no Pyth price.
 */
export const PRESETS: Readonly<Record<string, Preset>> = {
  pyth: preset({
    url: "https://hermes.pyth.network/v2/updates/price/latest?parsed=true&ids[]={id}",
    // The answer is the first update at or after the time.
    historyUrl: "https://hermes.pyth.network/v2/updates/price/{time}?parsed=true&ids[]={id}",
    price: { pointer: "/price/price", expoPointer: "/price/expo" },
    conf: { pointer: "/price/conf", expoPointer: "/price/expo" },
    time: { pointer: "/price/publish_time", unit: "s" },
    batch: { separator: "&ids[]=", list: "/parsed", symbol: "/id", max: 50 },
    needs: ["authorization"],
    symbols: symbolsIn(`
      xau=765d2ba906dbc32ca17cc11f5310a89e9ee1f6420508c63861f2f8ba4ee34bb2
      xag=f2fb02c32b055c805e7238d628e5e9dadef274376114eb1f012337cabe93871e
      eurusd=a995d00bb36a63cef7fd2c287dc105fc8f3d93779f062f09551b0af3e81ec30b
      gbpusd=84c2dde9633d93d1bcad84e7dc41c9d56578b7ec52fabedc1f335d673df0a7c1
      usdjpy=ef2c98c804ba503c6a707e38be4dfbb16683775f195b091252bf24693042fd52
      usdchf=0b1e3297e69f162877b577b0d6a47a0d63b2392bc8499e6540da4187a63e28f8
      audusd=67a6f93030420c1c9e3fe37c1ab6b77966af82f995944a9fefce357a22854a80
      usdcad=3112b03a41c910ed446852aacf67118cb1bec67b2cd0b9a214c58cc0eaa2ecca
      nzdusd=92eea8ba1b00078cdc2ef6f64f091f262e8c7d0576ee4677572f314ebfafa4c7
      eurgbp=c349ff6087acab1c0c5442a9de0ea804239cc9fd09be8b1a93ffa0ed7f366d9c
      eurjpy=d8c874fa511b9838d094109f996890642421e462c3b29501a2560cecf82c2eb4
      usdsgd=396a969a9c1480fa15ed50bc59149e2c0075a72fe8f458ed941ddec48bdb4918
      usdzar=389d889017db82bf42141f23b61b8de938a4e2d156e36312175bebf797f493f1
      btc=e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43
      eth=ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace
      sol=ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d
      bnb=2f95862b045670cd22bee3114c39763a4a08beeb663b145d283c31d7d1101c4f
      xrp=ec5d399846a9209f3fe5881d70aae9268c94339ff9817e8d18ff19fa05eea1c8
      ada=2a01deaec9e51a579277b34b122399984d0bbf57e2458a7e42fecd2829867a0d
      avax=93da3352f9f1d105fdfe4971cfa80e9dd777bfc5d0f683ebb6e1294b92137bb7
      brent=27f0d5e09a830083e5491795cac9ca521399c8f7fd56240d09484b14e614d57a
      wti=925ca92ff005ae943c158e3563f59698ce7e75c5a8c8dd43303a0a154887b3e6
      aapl=49f6b65cb1de6b10eaf75e7c03ca029c306d0357e91b5311b175084a5ad55688
      tsla=16dad506d7db8da01c87581c87ca897a012a153557d4d578c3b9c9e1bc0632f1
      nvda=b1073854ed24cbc755dc527418f52b7d271f6cc967bbf8d8129112b18860a593
      amzn=b5d0e0fa58a1f8b81498ae670ce93c872d14434b72c364885d4fa1b257cbb07a
      msft=d0ca23c1cc005e004ccf1db5bf76aeb6a49218f43dac3d4b275e92de12ded4d1
      googl=5a48c03e9b9cb337801073ed9d166817473697efff0d138874e0f6a33d6d5aa6
      meta=78a3e3b8e676a8f73c439f5d749737034b139bbbe899ba5775216fba596607fe
      xom=4a1a12070192e8db9a89ac235bb032342a390dde39389b4ee1ba8e41e7eae5d8
      jpm=7f4f157e57bfcccd934c566df536f34933e74338fe241a5425ce561acdab164e
    `),
  }),
  coinbase: preset({
    url: "https://api.exchange.coinbase.com/products/{id}/ticker",
    headers: AGENT,
    price: { pointer: "/price" },
    time: { pointer: "/time", unit: "rfc3339" },
    candles: {
      url: "https://api.exchange.coinbase.com/products/{id}/candles?granularity=60&start={from}&end={to}",
      unit: "rfc3339",
      spanMs: MINUTE_MS,
      list: "",
      start: "/0",
      price: { pointer: "/4" },
      volume: "/5",
    },
    symbols: symbolsIn("btc=BTC-USD eth=ETH-USD sol=SOL-USD xrp=XRP-USD ada=ADA-USD avax=AVAX-USD"),
  }),
  // The ticker has no time; the last trade has.
  kraken: preset({
    url: "https://api.kraken.com/0/public/Trades?pair={id}",
    headers: AGENT,
    price: { pointer: "/result/*/-1/0" },
    time: { pointer: "/result/*/-1/2", unit: "s" },
    trades: {
      url: "https://api.kraken.com/0/public/Trades?pair={id}&since={time}",
      list: "/result/*",
      price: { pointer: "/0" },
      time: { pointer: "/2", unit: "s" },
      max: 1000,
    },
    symbols: symbolsIn("btc=XBTUSD eth=ETHUSD sol=SOLUSD bnb=BNBUSD xrp=XRPUSD ada=ADAUSD avax=AVAXUSD"),
  }),
  bitstamp: preset({
    url: "https://www.bitstamp.net/api/v2/ticker/{id}/",
    headers: AGENT,
    price: { pointer: "/last" },
    time: { pointer: "/timestamp", unit: "s" },
    // A minute without trades also has a candle, with an older price and no volume.
    candles: {
      url: "https://www.bitstamp.net/api/v2/ohlc/{id}/?step=60&limit=2&start={from}",
      unit: "s",
      spanMs: MINUTE_MS,
      list: "/data/ohlc",
      start: "/timestamp",
      price: { pointer: "/close" },
      volume: "/volume",
    },
    symbols: symbolsIn("btc=btcusd eth=ethusd sol=solusd xrp=xrpusd ada=adausd avax=avaxusd"),
  }),
  // Prices in USDT, which differs from USD: for tenants who know that.
  binance: preset({
    url: "https://data-api.binance.vision/api/v3/ticker/24hr?symbol={id}",
    price: { pointer: "/lastPrice" },
    time: { pointer: "/closeTime", unit: "ms" },
  }),
  // The address contains the tenant's account, so the tenant file states it.
  oanda: preset({
    url: "https://api-fxtrade.oanda.com/v3/accounts/ACCOUNT/pricing?instruments={id}",
    price: { pointer: "/closeoutBid", andPointer: "/closeoutAsk" },
    time: { pointer: "/time", unit: "rfc3339" },
    okWhen: { pointer: "/tradeable", equals: true },
    batch: { separator: "%2C", list: "/prices", symbol: "/instrument", max: 20 },
    needs: ["url", "authorization"],
    symbols: symbolsIn(`
      xau=XAU_USD xag=XAG_USD eurusd=EUR_USD gbpusd=GBP_USD usdjpy=USD_JPY usdchf=USD_CHF audusd=AUD_USD
      usdcad=USD_CAD nzdusd=NZD_USD eurgbp=EUR_GBP eurjpy=EUR_JPY usdsgd=USD_SGD usdzar=USD_ZAR spx=SPX500_USD
      nas100=NAS100_USD us30=US30_USD ger40=DE30_EUR uk100=UK100_GBP jp225=JP225_USD aus200=AU200_AUD
      hk50=HK33_HKD brent=BCO_USD wti=WTICO_USD ngas=NATGAS_USD
    `),
  }),
  // The quote belongs to the minute that began at the stated time.
  twelvedata: preset({
    url: "https://api.twelvedata.com/quote?symbol={id}",
    price: { pointer: "/close" },
    time: { pointer: "/last_quote_at", unit: "s", spanMs: MINUTE_MS },
    okWhen: { pointer: "/status", notEquals: "error" },
    needs: ["authorization"],
    symbols: symbolsIn(`
      xau=XAU/USD xag=XAG/USD eurusd=EUR/USD gbpusd=GBP/USD usdjpy=USD/JPY usdchf=USD/CHF audusd=AUD/USD
      usdcad=USD/CAD nzdusd=NZD/USD eurgbp=EUR/GBP eurjpy=EUR/JPY usdaed=USD/AED usdsgd=USD/SGD usdzar=USD/ZAR
      spx=SPX nas100=NDX us30=DJI ger40=GDAXI uk100=FTSE jp225=N225 aus200=AXJO hk50=HSI brent=XBR/USD wti=WTI/USD
      ngas=NG/USD aapl=AAPL tsla=TSLA nvda=NVDA amzn=AMZN msft=MSFT googl=GOOGL meta=META xom=XOM jpm=JPM
    `),
  }),
  // An unknown symbol is answered with zeros, whose time is 1970 and so stale.
  finnhub: preset({
    url: "https://finnhub.io/api/v1/quote?symbol={id}",
    price: { pointer: "/c" },
    time: { pointer: "/t", unit: "s" },
    needs: ["authorization"],
    symbols: symbolsIn("aapl=AAPL tsla=TSLA nvda=NVDA amzn=AMZN msft=MSFT googl=GOOGL meta=META xom=XOM jpm=JPM"),
  }),
  massive: preset({
    url: "https://api.massive.com/v2/last/trade/{id}",
    price: { pointer: "/results/p" },
    time: { pointer: "/results/t", unit: "ns" },
    okWhen: { pointer: "/status", equals: "OK" },
    needs: ["authorization"],
    symbols: symbolsIn("aapl=AAPL tsla=TSLA nvda=NVDA amzn=AMZN msft=MSFT googl=GOOGL meta=META xom=XOM jpm=JPM"),
  }),
  // One fixing per business day.
  ecb: preset({
    url: "https://data-api.ecb.europa.eu/service/data/EXR/{id}?lastNObservations=1&format=jsondata",
    price: { pointer: "/dataSets/0/series/*/observations/*/0" },
    time: { pointer: "/structure/dimensions/observation/0/values/-1/id", unit: "date", spanMs: DAY_MS },
  }),
  // End of day; a missing value is ".", which is not a number.
  fred: preset({
    url: "https://api.stlouisfed.org/fred/series/observations?series_id={id}&sort_order=desc&limit=1&file_type=json",
    price: { pointer: "/observations/0/value" },
    time: { pointer: "/observations/0/date", unit: "date", spanMs: DAY_MS },
    needs: ["query"],
  }),
  // Not an official interface: for tenants who accept that.
  yahoo: preset({
    url: "https://query1.finance.yahoo.com/v8/finance/chart/{id}?interval=1m&range=1d",
    headers: AGENT,
    price: { pointer: "/chart/result/0/meta/regularMarketPrice" },
    time: { pointer: "/chart/result/0/meta/regularMarketTime", unit: "s" },
    okWhen: { pointer: "/chart/error", equals: null },
  }),
};
