import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import type { ConnectionLimits } from "../../src/domain/access/connection-limits.ts";
import type { Connection } from "../../src/postgres/connect.ts";
import { prepareDatabase } from "../../src/services/tenant/provision.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { AUDIT_SECRET, benchState } from "../bench/scene.ts";
import type { AttackTerms } from "./attack.ts";
import type { ClientTerms, Measured } from "./clients.ts";

export interface ServerTerms {
  connection: Connection;
  perMinute: number;
  limits?: Partial<ConnectionLimits>;
}

export interface Ports {
  port: number;
  opsPort: number;
  tlsPort: number;
}

/** What the server's process used since it was last asked. */
export interface Usage {
  /** Of one core. */
  cpuPercent: number;
  /** Milliseconds by which turns of the event loop came late. */
  delay: { p50: number; p99: number; max: number };
  rssMiB: number;
  /** Refusals by reason. */
  refused: Record<string, number>;
}

export interface AttackOutcome {
  /** Connections by kind, those that took the place of a closed one included. */
  opened: Record<string, number>;
  /** Of one core. */
  cpuPercent: number;
}

/** Makes an empty database the tenant under siege. */
export async function prepare(connection: Connection): Promise<void> {
  await prepareDatabase({ connection });
  const tenant = await openTenant({ tenantId: "bench", connection, auditSecret: AUDIT_SECRET, connections: 8 });
  await tenant.sequencer.submit({ command: { type: "applyConfig", ...benchState() }, actor: "cli:bench" });
  await tenant.close();
}

/** Starts the server. @param descriptors its limit; this process's own unless given */
export async function startServer(
  terms: ServerTerms,
  descriptors?: number,
): Promise<{ ports: Ports; usage(): Promise<Usage>; stop(): Promise<Usage> }> {
  const program = new URL("./server.ts", import.meta.url).pathname;
  const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors} && `;
  const child = spawn("/bin/sh", ["-c", `${limit}exec "$@"`, "sh", process.execPath, program, JSON.stringify(terms)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ports = await answerOf<Ports>(child);
  return { ports, usage: () => ask<Usage>(child, "usage"), stop: () => ask<Usage>(child, "stop") };
}

/** Starts to attack, and resolves once every hostile connection has been tried. */
export async function startAttack(terms: AttackTerms): Promise<{ stop(): Promise<AttackOutcome> }> {
  const child = fork(new URL("./attack.ts", import.meta.url), [JSON.stringify(terms)]);
  await answerOf(child);
  return { stop: () => ask<AttackOutcome>(child, "stop") };
}

/** Measures what clients see who attack nothing. */
export async function measure(terms: ClientTerms): Promise<Measured> {
  return answerOf<Measured>(fork(new URL("./clients.ts", import.meta.url), [JSON.stringify(terms)]));
}

function ask<T>(child: ChildProcess, what: "usage" | "stop"): Promise<T> {
  child.send(what);
  return answerOf<T>(child);
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`A process ended with ${code}`)));
  ended.catch(() => {});
  const [answer] = await Promise.race([once(child, "message"), ended]);
  return answer as T;
}
