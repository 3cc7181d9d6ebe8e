/**
 * Speed as ratios within one run on one machine, because absolute figures of a shared machine mean little, and what one
 * request costs in CPU. `npm run bench -- --only trades,reads --seconds 4`
 */
import { LOAD_GENERATOR } from "./load.ts";
import { readOptions } from "./options.ts";
import { Report } from "./report.ts";
import { proveBooks } from "./rows/proofs.ts";
import { readRatios } from "./rows/reads.ts";
import { oneConnection, tradeCosts, tradesOverPgbench, twoServers, warmUp } from "./rows/trading.ts";
import { openStage } from "./stage.ts";

const { parts, seconds } = readOptions(process.argv.slice(2));
const report = new Report();
const stage = await openStage();
try {
  report.note(`load by ${LOAD_GENERATOR}; ${stage.markets.length} markets, ${stage.tokens.length} users`);
  const server = await stage.serve();
  const terms = { stage, report, server, seconds };
  await warmUp(terms);
  if (parts.has("trades")) await tradeCosts(terms);
  if (parts.has("pgbench")) await tradesOverPgbench(terms);
  if (parts.has("single")) await oneConnection(terms);
  if (parts.has("two")) await twoServers(terms);
  if (parts.has("reads")) await readRatios(terms);
  await server.end("SIGTERM");
  await proveBooks(stage, report);
} finally {
  await stage.close();
}
process.exitCode = report.conclude() ? 0 : 1;
