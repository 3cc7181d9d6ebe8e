/** What a figure is to reach: a ratio or rate at least, a time or a size at most. */
export interface Aim {
  what: string;
  unit: "x" | "us" | "ms" | "MB" | "/s";
  reach: "at least" | "at most";
  aim: number;
}

const atLeast = (what: string, aim: number, unit: Aim["unit"] = "x"): Aim => ({ what, unit, reach: "at least", aim });
const atMost = (what: string, aim: number, unit: Aim["unit"]): Aim => ({ what, unit, reach: "at most", aim });

/** Every aim, stated once. The run prints and judges by it, and `docs/design/performance.md` is checked against it. */
export const AIMS = {
  trades: atLeast("trades over HTTP / pgbench tpcb-like prepared", 2.7),
  server64: atMost("CPU of the server per trade, 64 connections", 45, "us"),
  postgres64: atMost("CPU of PostgreSQL per trade, 64 connections", 45, "us"),
  server256: atMost("CPU of the server per trade, 256 connections", 45, "us"),
  postgres256: atMost("CPU of PostgreSQL per trade, 256 connections", 38, "us"),
  single: atMost("one connection, one trade after the other", 0.75, "ms"),
  singleRatio: atMost("one connection / one client of pgbench", 1.5, "x"),
  two: atLeast("two servers on one tenant / one alone", 0.8),
  twoP99: atMost("p99 of two servers / of one alone", 2, "x"),
  detail: atLeast("market detail / bare h3", 0.7),
  list: atLeast("list of 20 / bare h3", 0.65),
  trending: atLeast("trending / bare h3", 0.65),
  depth: atLeast("depth / bare h3", 0.65),
  history: atLeast("history / bare h3", 0.65),
  recent: atLeast("recent / bare h3", 0.65),
  positions: atLeast("positions / bare h3", 0.6),
  wallet: atLeast("wallet / bare h3", 0.6),
  reconcile: atMost("POST /v1/reconcile after a full pass", 150, "ms"),
  reconcileFull: atLeast("plain aggregates / full pass of reconciliation", 0.4),
  verifyDatabase: atLeast("audit verify from the database", 200_000, "/s"),
  verifyHttp: atLeast("audit verify over HTTP, server running", 200_000, "/s"),
  verifyHmac: atLeast("audit verify from the database / bare HMACs", 0.55),
  auditOfUser: atMost("GET /v1/audit?actor=user:...", 15, "ms"),
  reports: atMost("slowest report", 18, "ms"),
  statement: atMost("statement", 19, "ms"),
  settlement: atMost("settlement of 20 holders", 17, "ms"),
  restart: atMost("ready again after kill -9", 800, "ms"),
  memoryIdle: atMost("memory of a server, idle", 100, "MB"),
  startHelp: atMost("start of the command line: help", 60, "ms"),
  startList: atMost("start of the command line: a list through a server", 150, "ms"),
  memoryLoad: atMost("memory of a server, under full load", 400, "MB"),
} as const satisfies Record<string, Aim>;

export type AimId = keyof typeof AIMS;

/** A figure that misses its aim by less than a tenth does not fail the run: machines differ by that much from run to run. */
const TOLERANCE = 0.9;

export type Verdict = "met" | "within a tenth" | "MISSED";

/** How a figure stands to its aim; one that could not be measured (NaN) misses it. */
export function verdictOn({ reach, aim }: Aim, figure: number): Verdict {
  const share = reach === "at least" ? figure / aim : aim / figure;
  if (share >= 1) return "met";
  return share >= TOLERANCE ? "within a tenth" : "MISSED";
}

/** A figure in the unit of its aim, with as many digits as mean something. */
export function inUnit(figure: number, { unit }: Pick<Aim, "unit">): string {
  if (unit === "x") return figure.toFixed(2);
  const digits = figure >= 100 || unit === "MB" ? 0 : figure >= 10 ? 1 : 2;
  return `${figure.toFixed(digits)} ${unit}`;
}

/** Such as "at least 0.50". */
export const aimText = (aim: Aim): string => `${aim.reach} ${inUnit(aim.aim, aim)}`;
