/**
 * How long commands take on a tenant with many markets, from the start of a process to its end, without a server and with
 * one. `npm run bench:markets -- --markets 100000 --rounds 5 --only "market list,risk"`
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { type Aim, aimText, inUnit, verdictOn } from "../aims.ts";
import { median, timesOf } from "../figures.ts";
import { cpuTimes, parseStat, US_PER_TICK } from "../processes.ts";
import { keepTrading } from "../rows/history.ts";
import { endedWithBench, endOnSignals } from "../shared/endings.ts";
import { openStage } from "../stage.ts";
import { type Filled, fillMarkets } from "./fill-markets.ts";

const AIM: Aim = { what: "slowest command", unit: "ms", reach: "at most", aim: 400 };
const TRADES = 20_000;
const UNDER_WAY = 2048;
const PMCTL = fileURLToPath(new URL("../../../bin/pmctl.js", import.meta.url));

const { values } = parseArgs({
  options: {
    markets: { type: "string", default: "100000" },
    rounds: { type: "string", default: "5" },
    only: { type: "string" },
  },
});
const [count, rounds] = [Number(values.markets), Number(values.rounds)];

/** What operators read, by the words of the command line. */
const commandsOf = ({ open, user, trade }: Filled): string[] => [
  "version",
  ...["", "--status open", "--status suspended", "--status closed", "--status waiting", "--status settled"].map(
    (status) => `market list ${status}`,
  ),
  ...["--status unsettled", "--status all", "--q 77777", "--category bench"].map((filter) => `market list ${filter}`),
  ...[`market show ${open}`, `market history ${open}`, `why ${trade}`, `story ${open}`],
  ...["risk", "risk --status waiting", "inbox", "plan", "drift", "history", "key list", "policy show", "health"],
  ...[
    "user list",
    `user show ${user}`,
    `user orders ${user}`,
    `user statement ${user}`,
    `position list --user ${user}`,
  ],
  ...["audit list", `audit list --market ${open}`, `audit list --user ${user}`, "audit show 1000", "audit status"],
  ...["report overview", "report house", "oracle status", "funding list", "webhook receivers"],
];

endOnSignals();
const stage = await openStage();
const close = endedWithBench(stage.close);
try {
  const startedAt = performance.now();
  const filled = await stage.withServices(async (services) => {
    await keepTrading(services.sequencer, stage.markets, TRADES, UNDER_WAY);
    return fillMarkets(services, count);
  });
  console.log(`${count} markets in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  const lines = commandsOf(filled).filter((line) => values.only?.split(",").some((it) => line.startsWith(it)) ?? true);
  const slowest = [await slowestOf("no server", lines)];
  const server = await stage.serveBuilt();
  slowest.push(await slowestOf("a server", lines));
  await server.end("SIGTERM");
  const figure = Math.max(...slowest);
  const verdict = verdictOn(AIM, figure);
  console.log(`\n${AIM.what.padEnd(50)} ${inUnit(figure, AIM).padStart(10)}   ${aimText(AIM)} ${verdict}`);
  if (verdict === "MISSED") process.exitCode = 1;
} finally {
  await close();
}

/** What ended processes of this one have used, and PostgreSQL with them, in milliseconds of CPU. */
function cpuSoFar(): number {
  const { reaped } = parseStat(readFileSync("/proc/self/stat", "utf8"));
  return (reaped * US_PER_TICK + (cpuTimes([], stage.directory)?.postgres ?? 0)) / 1000;
}

/**
 * Prints what each command takes, in milliseconds, and returns the longest of their quickest rounds: other programs make a
 * round longer, and none shorter. On a busy machine the CPU says what a quiet one would take.
 */
async function slowestOf(beside: string, lines: readonly string[]): Promise<number> {
  console.log(`\n${beside}`);
  const quickests: number[] = [];
  for (const line of lines) {
    const args = [PMCTL, ...line.split(" ").filter((word) => word !== ""), "-o", "json"];
    const used = cpuSoFar();
    const times = await timesOf(rounds, async () => {
      const { exitCode, stderr } = await execa(process.execPath, args, { cwd: stage.directory, reject: false });
      if (exitCode !== 0 && exitCode !== 3) console.log(`${line}: ${stderr}`);
    });
    const quickest = Math.min(...times);
    quickests.push(quickest);
    const [typical, least, cpu] = [median(times), quickest, (cpuSoFar() - used) / rounds].map((ms) => ms.toFixed(0));
    console.log(`${line.padEnd(62)} ${typical} ms, quickest ${least} ms, CPU with PostgreSQL ${cpu} ms`);
  }
  return Math.max(...quickests);
}
