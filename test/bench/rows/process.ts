import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { timesOf } from "../figures.ts";
import { memoryOf } from "../processes.ts";
import type { Report } from "../report.ts";
import type { BenchServer, Stage } from "../stage.ts";

const STARTS = 9;
const PROGRAM = fileURLToPath(new URL("../../../bin/pmctl.js", import.meta.url));

/** How long a fresh server is left alone: its first walk of the log is over, and what that left behind was collected. */
const SETTLING_MS = 20_000;

/** @param server that has carried all loads of the run */
export function loadedMemory(report: Report, server: BenchServer): void {
  report.figure("memoryLoad", memoryOf(server.pid)?.peakMb);
}

/** The built program: how soon it is ready again after a kill -9, and what it takes when nothing happens. */
export async function restartAndIdle(stage: Stage, report: Report): Promise<void> {
  await execa(process.execPath, [fileURLToPath(new URL("../../../bin/build.js", import.meta.url))]);
  const first = await stage.serveBuilt();
  await first.end("SIGKILL");
  const startedAt = performance.now();
  const next = await stage.serveBuilt();
  // The operations listener, because the loads of this run have used up the limit of their address.
  const { status } = await fetch(`${next.opsUrl}/readyz`);
  if (status !== 200) throw new Error(`The restarted server is not ready: ${status}`);
  report.figure("restart", performance.now() - startedAt);
  await delay(SETTLING_MS);
  report.figure("memoryIdle", memoryOf(next.pid)?.nowMb);
  report.figure("startHelp", await startOf(stage, "help"));
  report.figure("startList", await startOf(stage, "market", "list", "--limit", "1"));
  await next.end("SIGTERM");
}

/** The wall time of a command of the built program, its process included; with a server running it goes through that. */
async function startOf({ directory }: Stage, ...command: string[]): Promise<number> {
  // A shell starts them, because a process as large as this one takes 10 ms longer to start another.
  const line = [process.execPath, PROGRAM, ...command].map((word) => `'${word}'`).join(" ");
  const times = (count: number) =>
    execa("sh", ["-c", `for i in $(seq ${count}); do ${line}; done`], { cwd: directory });
  // The first start compiles, and keeps what it compiled.
  await times(1);
  const [elapsedMs = Number.NaN] = await timesOf(1, () => times(STARTS));
  return elapsedMs / STARTS;
}
