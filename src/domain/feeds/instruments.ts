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
  session: SessionName;
  /** Lowest and highest plausible price. */
  bounds: readonly [number, number];
}

/**
 * The instruments of the built-in venue: code, session, plausible prices; what sources call them stands with the sources.
 * Energy prices may be negative, as they were on 2020-04-20.
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
btc     crypto    1000..10000000
eth     crypto    10..1000000
sol     crypto    0.5..100000
bnb     crypto    5..100000
xrp     crypto    0.01..1000
ada     crypto    0.01..1000
avax    crypto    0.5..100000
spx     us_eq     500..50000
nas100  us_eq     1000..200000
us30    us_eq     5000..500000
ger40   xetra     2000..200000
uk100   lse       1000..100000
jp225   jpx       5000..500000
aus200  asx       1000..100000
hk50    hkex      2000..200000
brent   oil_brent -100..1000
wti     oil_wti   -100..1000
ngas    oil_wti   -10..200
aapl    us_eq     1..100000
tsla    us_eq     1..100000
nvda    us_eq     1..100000
amzn    us_eq     1..100000
msft    us_eq     1..100000
googl   us_eq     1..100000
meta    us_eq     1..100000
xom     us_eq     1..100000
jpm     us_eq     1..100000
`;

export const INSTRUMENTS: Readonly<Record<string, Instrument>> = Object.fromEntries(
  TABLE.trim()
    .split("\n")
    .map((line) => {
      const [code = "", session = "", bounds = ""] = line.split(/ +/);
      const [lowest, highest] = bounds.split("..").map(Number);
      const instrument: Instrument = {
        session: session as SessionName,
        bounds: [Number(lowest), Number(highest)],
      };
      return [code, instrument];
    }),
);
