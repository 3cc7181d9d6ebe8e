import { ask } from "../ask.ts";
import { median, timesOf } from "../figures.ts";
import type { BenchServer, Stage } from "../stage.ts";
import type { TradingTerms } from "./trading.ts";

const ROUNDS = 5;
const HOLDERS = 20;
const REPORTS = ["/v1/reports/overview", "/v1/reports/house", "/v1/reports/traders", "/v1/reports/funding", "/v1/risk"];

/** What may not take longer because the tenant has traded more. */
export async function growingAnswers({ stage, report, server }: TradingTerms): Promise<void> {
  const reports: number[] = [];
  for (const path of REPORTS) {
    const ms = median(await timesOf(ROUNDS, () => ask(stage, server, { path })));
    report.note(`${path.padEnd(34)} ${ms.toFixed(1)} ms`);
    reports.push(ms);
  }
  report.figure("reports", Math.max(...reports));
  const statements = await timesOf(ROUNDS, (round) => ask(stage, server, { path: "/v1/statement", trader: round }));
  report.figure("statement", median(statements));
  report.figure("settlement", median(await settlements(stage, server)));
}

/** Milliseconds to settle markets that each of `HOLDERS` traders has bought into. */
async function settlements(stage: Stage, server: BenchServer): Promise<number[]> {
  const ids: string[] = [];
  for (let index = 0; index < ROUNDS; index++) {
    const created = await ask(stage, server, {
      method: "POST",
      path: "/v1/markets",
      body: {
        question: `Will settlement ${index} be quick?`,
        category: "bench",
        kind: "cpmm",
        p0: 0.5,
        closeAt: "2040-01-01T00:00:00Z",
        resolutionRef: "bench",
      },
    });
    const { id } = JSON.parse(created) as { id: string };
    for (let trader = 0; trader < HOLDERS; trader++) {
      const body = { marketId: id, selection: { side: trader % 2 === 0 ? "yes" : "no" }, amount: 10 };
      await ask(stage, server, { method: "POST", path: "/v1/trade", trader, body });
    }
    ids.push(id);
  }
  return timesOf(ROUNDS, (round) =>
    ask(stage, server, {
      method: "POST",
      path: "/v1/settle",
      body: { marketId: ids[round], outcome: "yes" },
    }),
  );
}
