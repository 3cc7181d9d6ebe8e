import { requestBytes } from "../load.ts";
import { measure, withBatches } from "../measure.ts";
import { benchPgbench, type Pgbench } from "../pgbench.ts";
import type { Report } from "../report.ts";
import type { BenchServer, Stage } from "../stage.ts";

/** Enough that markets, users and amounts come together in every way, few enough to be prepared in no time. */
const VARIANTS = 4096;

/** Trades of all users in turn, on markets in an order that repeats with another period. */
export function tradeRequests({ secrets, tokens, markets }: Stage): Buffer[] {
  return Array.from({ length: VARIANTS }, (_, index) =>
    requestBytes(
      "POST",
      "/v1/trade",
      { "x-api-key": secrets.publicKey, authorization: `Bearer ${tokens[index % tokens.length]}` },
      {
        marketId: markets[(index * 37 + (index >> 8)) % markets.length],
        selection: { side: (index >> 1) % 2 === 0 ? "yes" : "no" },
        amount: 1 + (index % 7),
      },
    ),
  );
}

export interface TradingTerms {
  stage: Stage;
  report: Report;
  server: BenchServer;
  seconds: number;
}

/** Compiles what trades run through, before anything is measured. */
export async function warmUp({ stage, report, server }: TradingTerms): Promise<void> {
  const requests = tradeRequests(stage);
  await measure(stage, report, [server], { name: "(warming up)", connections: 64, seconds: 3, requests });
}

/** CPU per trade under load. */
export async function tradeCosts({ stage, report, server, seconds }: TradingTerms): Promise<void> {
  const requests = tradeRequests(stage);
  for (const connections of [64, 256] as const) {
    const name = `trades, ${connections} connections`;
    const { cpu } = await withBatches(stage, server, report, () =>
      measure(stage, report, [server], { name, connections, seconds, requests }),
    );
    report.figure(`server${connections}`, cpu?.server);
    report.figure(`postgres${connections}`, cpu?.postgres);
  }
}

/** Rounds of pgbench and of trades in turn, so that both see the same machine; the best of each side counts. */
export async function tradesOverPgbench({ stage, report, server, seconds }: TradingTerms): Promise<void> {
  const pgbench = await benchPgbench(stage.cluster, report);
  const requests = tradeRequests(stage);
  const own: number[] = [];
  const baseline: number[] = [];
  const rounds: [pgbenchClients: number, connections: number][] = [
    [8, 64],
    [16, 128],
    [32, 256],
    [16, 256],
  ];
  for (const [clients, connections] of rounds) {
    baseline.push((await pgbench.run(clients, seconds)).perSecond);
    const name = `trades, ${connections} connections`;
    own.push((await measure(stage, report, [server], { name, connections, seconds, requests })).perSecond);
  }
  report.figure("trades", Math.max(...own) / Math.max(...baseline));
}

/** One trade after the other, against the five statements of one client of pgbench. */
export async function oneConnection({ stage, report, server, seconds }: TradingTerms): Promise<void> {
  const pgbench: Pgbench = await benchPgbench(stage.cluster, report);
  const requests = tradeRequests(stage);
  const latencies: number[] = [];
  const baseline: number[] = [];
  for (let round = 0; round < 2; round++) {
    baseline.push((await pgbench.run(1, seconds / 2)).latencyMs);
    const run = { name: "trades, 1 connection", connections: 1, seconds: seconds / 2, requests };
    const { perSecond } = await measure(stage, report, [server], run);
    latencies.push(1000 / perSecond);
  }
  report.figure("single", Math.min(...latencies));
  report.figure("singleRatio", Math.min(...latencies) / Math.min(...baseline));
}

/** Two servers with as many connections together as one alone has. */
export async function twoServers({ stage, report, server, seconds }: TradingTerms): Promise<void> {
  const requests = tradeRequests(stage);
  const second = await stage.serve("--no-sweep");
  const load = { connections: 64, seconds, requests };
  await measure(stage, report, [second], { ...load, name: "(warming up the second)", seconds: 3 });
  const alone = await measure(stage, report, [server], { ...load, name: "one server, 64 connections" });
  const together = await measure(stage, report, [server, second], { ...load, name: "two servers, 32 each" });
  await second.end("SIGTERM");
  report.figure("two", together.perSecond / alone.perSecond);
  report.figure("twoP99", together.p99 / alone.p99);
}
