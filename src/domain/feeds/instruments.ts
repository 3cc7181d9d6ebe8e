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

interface Instrument {
  /** A proper name, which is the same in every language; undefined for currency pairs, metals and fuels. */
  name: string | undefined;
  session: SessionName;
  /** Lowest and highest plausible price. */
  bounds: readonly [number, number];
}

/**
 * The instruments of the built-in venue: code, session, plausible prices, name. The sources' own names are listed with
 * the sources. Energy prices may be negative, as on 2020-04-20.
 */
const TABLE = `
xau     metal     200..100000
xag     metal     2..2000
eurusd  fx        0.5..2.5
gbpusd  fx        0.5..3
usdjpy  fx        50..500
usdchf  fx        0.3..3
audusd  fx        0.3..2
usdcad  fx        0.5..3
nzdusd  fx        0.3..2
eurgbp  fx        0.4..2
eurjpy  fx        50..600
usdaed  fx        3.5..4
usdsgd  fx        0.8..3
usdzar  fx        5..60
btc     crypto    1000..10000000       Bitcoin
eth     crypto    10..1000000          Ether
sol     crypto    0.5..100000          Solana
bnb     crypto    5..100000            BNB
xrp     crypto    0.01..1000           XRP
ada     crypto    0.01..1000           Cardano
avax    crypto    0.5..100000          Avalanche
spx     us_eq     500..50000           S&P 500
nas100  us_eq     1000..200000         Nasdaq 100
us30    us_eq     5000..500000         Dow Jones
ger40   xetra     2000..200000         DAX 40
uk100   lse       1000..100000         FTSE 100
jp225   jpx       5000..500000         Nikkei 225
aus200  asx       1000..100000         ASX 200
hk50    hkex      2000..200000         Hang Seng
brent   oil_brent -100..1000           Brent
wti     oil_wti   -100..1000           WTI
ngas    oil_wti   -10..200
aapl    us_eq     1..100000            Apple
tsla    us_eq     1..100000            Tesla
nvda    us_eq     1..100000            Nvidia
amzn    us_eq     1..100000            Amazon
msft    us_eq     1..100000            Microsoft
googl   us_eq     1..100000            Alphabet
meta    us_eq     1..100000            Meta
xom     us_eq     1..100000            Exxon Mobil
jpm     us_eq     1..100000            JPMorgan Chase
`;

export const INSTRUMENTS: Readonly<Record<string, Instrument>> = Object.fromEntries(
  TABLE.trim()
    .split("\n")
    .map((line) => {
      const [code = "", session = "", bounds = "", ...name] = line.split(/ +/);
      const [lowest, highest] = bounds.split("..").map(Number);
      const instrument: Instrument = {
        name: name.length === 0 ? undefined : name.join(" "),
        session: session as SessionName,
        bounds: [Number(lowest), Number(highest)],
      };
      return [code, instrument];
    }),
);
