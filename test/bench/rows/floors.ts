import { mkdtemp, rm } from "node:fs/promises";
import { withClient } from "../../../src/postgres/connect.ts";
import { openTenant } from "../../../src/services/tenant/tenant.ts";
import { ask } from "../ask.ts";
import { startBare } from "../bare.ts";
import { runLoad } from "../load.ts";
import { measure } from "../measure.ts";
import { cpuTimes } from "../processes.ts";
import { replay, startRecorder } from "../recorder.ts";
import type { Report } from "../report.ts";
import type { Stage } from "../stage.ts";
import { keepTrading } from "./history.ts";
import { type TradingTerms, tradeRequests } from "./trading.ts";

const COPY = "replay";
const TRADES = 20_000;

/**
 * What a trade costs PostgreSQL when no program of ours is in the way: the bytes that the writer sent are kept, and sent
 * once more to a copy of the database as it was before. No server may run on the tenant.
 */
export async function replayFloor(stage: Stage, report: Report): Promise<void> {
  for (const underWay of [1, 64, 256]) {
    const trades = underWay === 1 ? TRADES / 10 : TRADES;
    const maintenance = stage.cluster.connection("postgres");
    const administer = (statement: string) =>
      withClient(maintenance, { name: "bench", max: 1 }, (sql) => sql.unsafe(statement));
    await administer(`create database ${COPY} template bench`);
    try {
      const recording = await record(stage, trades, underWay);
      const copy = stage.cluster.connection(COPY);
      const before = cpuTimes([], stage.directory);
      const ownBefore = process.cpuUsage();
      const startedAt = performance.now();
      await replay(recording, copy);
      const ms = performance.now() - startedAt;
      const own = process.cpuUsage(ownBefore);
      const after = cpuTimes([], stage.directory);
      if ((await headOf(stage, COPY)) !== (await headOf(stage, "bench")))
        report.trouble("the replay did not end at the head that was recorded");
      const postgres =
        before && after ? `${((after.postgres - before.postgres) / trades).toFixed(1)} us` : "not available";
      report.note(
        `replay, ${underWay} under way`.padEnd(34) +
          ` ${Math.round((trades / ms) * 1000)}/s in ${recording.flights.length} statements, ${(ms / recording.flights.length).toFixed(2)} ms each,` +
          ` CPU per trade: client ${((own.user + own.system) / trades).toFixed(1)} us, PostgreSQL ${postgres}`,
      );
    } finally {
      await administer(`drop database ${COPY}`);
    }
  }
}

async function record(stage: Stage, trades: number, underWay: number) {
  const directory = await mkdtemp("/tmp/pmctl-wire-");
  const connection = stage.cluster.connection("bench");
  const recorder = await startRecorder(directory, connection);
  const { auditSecret } = stage.secrets;
  const services = await openTenant({ tenantId: "bench", connection: { ...connection, host: directory }, auditSecret });
  try {
    await keepTrading(services.sequencer, stage.markets, trades, underWay);
  } finally {
    await services.close();
    await recorder.close();
    await rm(directory, { recursive: true });
  }
  const writer = recorder.recordings.find(({ start }) => start.get("application_name") === "pmctl writer");
  if (!writer) throw new Error("The writer's connection was not recorded");
  return writer;
}

async function headOf({ cluster }: Stage, database: string): Promise<string> {
  const [row] = await withClient(
    cluster.connection(database),
    { name: "bench", max: 1 },
    (sql) => sql<{ hash: string }[]>`select hash from head where id = 1`,
  );
  return row?.hash ?? "";
}

/** The same trades, answered with the same bytes by servers that do nothing else. */
export async function answerFloor({ stage, report, server, seconds }: TradingTerms): Promise<void> {
  const requests = tradeRequests(stage);
  const body = { marketId: stage.markets[0], selection: { side: "yes" }, amount: 1 };
  const answer = await ask(stage, server, { method: "POST", path: "/v1/trade", trader: 0, body });
  for (const kind of ["h3", "node"] as const) {
    const bare = await startBare({ "/v1/trade": answer }, kind);
    await runLoad(bare.port, { connections: 64, seconds: 1, requests });
    for (const connections of [64, 256])
      await measure(stage, report, [bare], {
        name: `trade answered by bare ${kind}, ${connections}`,
        connections,
        seconds,
        requests,
      });
    bare.end();
  }
}
