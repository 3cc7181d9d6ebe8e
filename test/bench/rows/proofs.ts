import { createHmac } from "node:crypto";
import { auditKey } from "../../../src/domain/audit/seal.ts";
import { ask } from "../ask.ts";
import { median, timesOf } from "../figures.ts";
import type { Report } from "../report.ts";
import type { Stage } from "../stage.ts";
import type { TradingTerms } from "./trading.ts";

const ROUNDS = 3;

/** Reconciliation against one plain aggregate over the same tables, and once a full pass has ended. */
export async function reconciliation({ stage, report, server }: TradingTerms): Promise<void> {
  const reconcile = (query: string) => ask(stage, server, { method: "POST", path: `/v1/reconcile${query}` });
  const full = Math.min(...(await timesOf(ROUNDS, () => reconcile("?full=true"))));
  const incremental = median(await timesOf(ROUNDS, () => reconcile("")));
  const plain = await stage.withServices(({ checks }) =>
    checks.read(async (sql) => {
      const times = await timesOf(
        ROUNDS,
        () => sql`
          select (select count(*) from (select debit, sum(amount_micro) from transfer group by debit) as t),
                 (select count(*) from
                   (select trader_id, market_id, side, sum(shares_micro) from trade group by 1, 2, 3) as t),
                 (select sum(length(payload)) from audit)`,
      );
      return Math.min(...times);
    }),
  );
  report.note(
    `reconciliation: full pass ${full.toFixed(0)} ms, plain aggregates ${plain.toFixed(0)} ms, after it ${incremental.toFixed(0)} ms`,
  );
  report.figure("reconcile", incremental);
  report.figure("reconcileFull", plain / full);
}

/** Verification by the command line through both doors, less what any of its commands takes. */
export async function verification({ stage, report, server }: TradingTerms): Promise<void> {
  const shape = await shapeOfLog(stage);
  const perSecond = async (...door: string[]) => {
    const time = async (...command: string[]) =>
      Math.min(...(await timesOf(2, () => succeed(stage, ...command, ...door))));
    const own = await time("audit", "list", "--limit", "1");
    const whole = await time("audit", "verify");
    report.note(`audit verify ${door.join(" ")}: ${shape.entries} entries in ${whole.toFixed(0)} ms`);
    return shape.entries / ((whole - own) / 1000);
  };
  const database = await perSecond("--via", "db");
  report.figure("verifyDatabase", database);
  report.figure("verifyHttp", await perSecond("--url", `http://127.0.0.1:${server.port}`));
  report.figure("verifyHmac", database / bareHmacs(stage.secrets.auditSecret, shape));
}

/** The newest entries of one trader. */
export async function auditOfUser({ stage, report, server }: TradingTerms): Promise<void> {
  const times = await timesOf(20, (round) => ask(stage, server, { path: `/v1/audit?actor=user:usr_${round * 7}` }));
  report.figure("auditOfUser", median(times));
}

interface LogShape {
  entries: number;
  /** Characters that the seal of an entry covers, on average. */
  length: number;
}

async function shapeOfLog(stage: Stage): Promise<LogShape> {
  const [row] = await stage.withServices(({ checks }) =>
    checks.read(
      (sql) => sql<LogShape[]>`
        select count(*)::int as entries,
               (avg(length(key_id || seq || ts || type || actor || payload)) + 85)::int as length
          from audit`,
    ),
  );
  return row ?? { entries: 0, length: 0 };
}

/** HMACs per second of texts as long as those of the log's entries, on one thread. */
function bareHmacs(secret: string, { entries, length }: LogShape): number {
  const { key } = auditKey(secret);
  const text = "x".repeat(length);
  const startedAt = performance.now();
  for (let index = 0; index < entries; index++) createHmac("sha256", key).update(text).digest("hex");
  return entries / ((performance.now() - startedAt) / 1000);
}

async function succeed({ run }: Stage, ...args: string[]): Promise<void> {
  const { exitCode, stderr } = await run(...args);
  if (exitCode !== 0) throw new Error(`${args.join(" ")} ended with ${exitCode}: ${stderr}`);
}

/** Whatever ran before: the books are exact, and the log verifies from its first entry on. */
export async function proveBooks({ run }: Stage, report: Report): Promise<void> {
  for (const command of [["reconcile"], ["audit", "verify"]]) {
    const { exitCode, stdout, stderr } = await run(...command, "--via", "db");
    if (exitCode === 0) report.note(`${command.join(" ")}: holds`);
    else report.trouble(`${command.join(" ")} ended with ${exitCode}: ${stdout} ${stderr}`);
  }
}
