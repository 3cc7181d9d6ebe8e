import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { keepTrading } from "./rows/history.ts";
import { openStage } from "./stage.ts";

/**
 * Measures what a replay of a tenant's past costs: `node test/bench/replay.ts --trades 1000000`. Each command runs in its
 * own process from `dist`, with too little memory to hold the whole log.
 */
const { values } = parseArgs({ options: { trades: { type: "string", default: "1000000" } } });
const trades = Number(values.trades);
const HEAP_MB = 256;
const PMCTL = fileURLToPath(new URL("../../bin/pmctl.js", import.meta.url));
const run = promisify(execFile);

interface PlannedReplay {
  replay?: { commands: number; digest: string };
}

const say = (line: string) => process.stdout.write(`${line}\n`);

async function timed<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
  const startedAt = performance.now();
  const value = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  say(`${name}: ${seconds.toFixed(1)} s, ${Math.round(trades / seconds)} trades/s`);
  return value;
}

const stage = await openStage();
try {
  const pmctl = async (...args: string[]): Promise<unknown> => {
    const line = [`--max-old-space-size=${HEAP_MB}`, PMCTL, ...args, "--via", "db", "-o", "json", "--quiet"];
    const { stdout } = await run(process.execPath, line, { cwd: stage.directory, maxBuffer: 2 ** 28 });
    return JSON.parse(stdout);
  };
  await timed(`${trades} trades written`, () =>
    stage.withServices(({ sequencer }) => keepTrading(sequencer, stage.markets, trades, 2048)),
  );
  const { head, ok } = (await timed("pmctl replay", () => pmctl("replay"))) as { head: number; ok: boolean };
  say(`  ${head} entries, ${ok ? "the tables agree" : "THE TABLES DIFFER"}`);
  const plan = async (...flags: string[]) => {
    const [planned] = (await pmctl(
      "plan",
      "bench",
      "--replay",
      "30d",
      "--accept-loosening",
      ...flags,
    )) as PlannedReplay[];
    return planned?.replay;
  };
  const first = await timed("pmctl plan --replay 30d", () => plan());
  say(`  ${JSON.stringify(first)}`);
  say(`  ${(await plan())?.digest === first?.digest ? "the same digest again" : "ANOTHER DIGEST"}`);
} finally {
  await stage.close();
}
