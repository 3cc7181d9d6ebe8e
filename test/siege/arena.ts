import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import type { ConnectionLimits } from "../../src/domain/connection-limits.ts";
import { provision } from "../../src/services/provision.ts";
import type { Connection } from "../../src/store/connect.ts";
import { AUDIT_SECRET, benchState } from "../bench/scene.ts";
import type { AttackTerms } from "./attack.ts";

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

/** What the server says when it is over. */
export interface Outcome {
  /** Refusals by reason. */
  refused: Record<string, number>;
  rss: number;
}

/** Makes an empty database the tenant under siege. */
export async function prepare(connection: Connection): Promise<void> {
  await provision({
    tenantId: "bench",
    connection,
    auditSecret: AUDIT_SECRET,
    actor: "cli:bench",
    config: benchState(),
  });
}

/** Starts the server. @param descriptors its limit; this process's own unless given */
export async function startServer(
  terms: ServerTerms,
  descriptors?: number,
): Promise<{ ports: Ports; stop(): Promise<Outcome> }> {
  const program = new URL("./server.ts", import.meta.url).pathname;
  const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors} && `;
  const child = spawn("/bin/sh", ["-c", `${limit}exec "$@"`, "sh", process.execPath, program, JSON.stringify(terms)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ports = await answerOf<Ports>(child);
  return { ports, stop: () => ask<Outcome>(child) };
}

/** Starts to attack, and resolves once every hostile connection has been tried. */
export async function startAttack(terms: AttackTerms): Promise<{ stop(): Promise<Record<string, number>> }> {
  const child = fork(new URL("./attack.ts", import.meta.url), [JSON.stringify(terms)]);
  await answerOf(child);
  return { stop: () => ask<Record<string, number>>(child) };
}

function ask<T>(child: ChildProcess): Promise<T> {
  child.send("stop");
  return answerOf<T>(child);
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`A process ended with ${code}`)));
  ended.catch(() => {});
  const [answer] = await Promise.race([once(child, "message"), ended]);
  return answer as T;
}
