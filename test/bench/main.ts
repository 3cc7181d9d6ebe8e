/**
 * Speed as ratios within one run on one machine, because absolute figures of a shared machine mean little, and what one
 * request costs in CPU. `npm run bench -- --only trades,reads --seconds 4 --history 1000000`
 */
import { readFileSync, writeFileSync } from "node:fs";
import { LOAD_GENERATOR } from "./load.ts";
import { readOptions } from "./options.ts";
import { recordFigures } from "./record.ts";
import { Report } from "./report.ts";
import { answerFloor, replayFloor } from "./rows/floors.ts";
import { growingAnswers } from "./rows/growth.ts";
import { growHistory } from "./rows/history.ts";
import { loadedMemory, restartAndIdle } from "./rows/process.ts";
import { auditOfUser, proveBooks, reconciliation, verification } from "./rows/proofs.ts";
import { readRatios } from "./rows/reads.ts";
import { backupSize, diskSizes } from "./rows/sizes.ts";
import { oneConnection, tradeCosts, tradesOverPgbench, twoServers, warmUp } from "./rows/trading.ts";
import { openStage } from "./stage.ts";

const { parts, seconds, history, record } = readOptions(process.argv.slice(2));
const report = new Report();
const stage = await openStage();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stage.close().finally(() => process.exit(1)));
try {
  report.note(`load by ${LOAD_GENERATOR}; ${stage.markets.length} markets, ${stage.tokens.length} users`);
  await growHistory(stage, report, history);
  const server = await stage.serve();
  const terms = { stage, report, server, seconds };
  await warmUp(terms);
  if (parts.has("trades")) await tradeCosts(terms);
  if (parts.has("pgbench")) await tradesOverPgbench(terms);
  if (parts.has("single")) await oneConnection(terms);
  if (parts.has("two")) await twoServers(terms);
  if (parts.has("reads")) await readRatios(terms);
  if (parts.has("process")) loadedMemory(report, server);
  if (parts.has("proofs")) {
    await reconciliation(terms);
    await verification(terms);
    await auditOfUser(terms);
  }
  if (parts.has("growth")) await growingAnswers(terms);
  if (parts.has("floors")) await answerFloor(terms);
  await server.end("SIGTERM");
  if (parts.has("floors")) await replayFloor(stage, report);
  if (parts.has("process")) await restartAndIdle(stage, report);
  if (parts.has("sizes")) {
    await diskSizes(stage, report);
    await backupSize(stage, report);
  }
  await proveBooks(stage, report);
} finally {
  await stage.close();
}
if (record) {
  const page = new URL("../../docs/design/performance.md", import.meta.url);
  writeFileSync(page, recordFigures(readFileSync(page, "utf8"), report.figures));
}
process.exitCode = report.conclude() ? 0 : 1;
