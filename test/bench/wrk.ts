import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import type { Load, LoadResult } from "./load.ts";

/** Load by wrk, a C program: it sends the requests in turn by a script that is written for the run. */
export async function runWrk(port: number, { connections, seconds, requests }: Load): Promise<LoadResult> {
  const directory = await mkdtemp(join(tmpdir(), "pmctl-wrk-"));
  const script = join(directory, "load.lua");
  try {
    await writeFile(script, luaScript(requests));
    const size = ["-t", "1", "-c", String(connections), "-d", String(Math.ceil(seconds)), "--timeout", "10s"];
    const { stdout } = await execa("wrk", [...size, "-s", script, `http://127.0.0.1:${port}`]);
    const line = /^result (.*)$/m.exec(stdout)?.[1];
    if (line === undefined) throw new Error(`wrk printed no result: ${stdout}`);
    const [count = 0, microseconds = 0, failed = 0, p50 = 0, p99 = 0] = line.split(" ").map(Number);
    return { requests: count, perSecond: count / (microseconds / 1e6), failed, p50: p50 / 1000, p99: p99 / 1000 };
  } finally {
    await rm(directory, { recursive: true });
  }
}

function luaScript(requests: readonly Buffer[]): string {
  // Requests are ASCII, whose JSON strings are strings of Lua too.
  const list = requests.map((bytes) => JSON.stringify(bytes.toString("latin1"))).join(",\n");
  return `
local requests = {
${list}
}
local sent = 0
function request()
  sent = sent % #requests + 1
  return requests[sent]
end
function done(summary, latency)
  local e = summary.errors
  local failed = e.connect + e.read + e.write + e.status + e.timeout
  print(string.format("result %d %d %d %d %d", summary.requests, summary.duration, failed, latency:percentile(50), latency:percentile(99)))
end
`;
}
