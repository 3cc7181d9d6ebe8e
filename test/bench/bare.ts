import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { nurseryOptions } from "../../src/app/serve/heap.ts";
import { DEFAULT_MEMORY_MB } from "../../src/config/schema/server-limits.ts";

/** A server that only answers with ready texts. */
export interface BareServer {
  port: number;
  pid: number;
  end(): void;
}

/**
 * @param bodies by path, without query
 * @param kind handlers of h3, or of Node's own HTTP alone
 */
export async function startBare(bodies: Record<string, string>, kind: "h3" | "node" = "h3"): Promise<BareServer> {
  const program = new URL("./bare-server.ts", import.meta.url).pathname;
  // With the young generation that the product has.
  const args = [...nurseryOptions(DEFAULT_MEMORY_MB), program, kind];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(bodies));
  const [line] = await once(createInterface(child.stdout), "line");
  const { port } = JSON.parse(String(line)) as { port: number };
  return { port, pid: child.pid ?? 0, end: () => child.kill("SIGTERM") };
}
