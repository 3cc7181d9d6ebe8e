import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { isErrno } from "../../config/environment.ts";
import { DEMO_TENANT, folderNames } from "../../config/selection/operator-directory.ts";
import { serverPids } from "../../state/server-sockets.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { serversHere, UNSERVED } from "../tenant/servers-here.ts";

/** How many ports after the tenant's own are tried for a free one. */
const TRIED = 50;

/** Why no server serves a tenant that expects one, and what helps. */
export interface Unserved {
  problem: string;
  remedy: string;
  /** Undefined where a person has to look first. */
  command?: string;
}

/** A server on a port that is held would not start, so the command then names a free one. */
export async function explainUnserved(tenant: OperatorTenant): Promise<Unserved> {
  const { id, config } = tenant;
  const { host, port, opsHost, opsPort } = config.server;
  const { silent, failing } = await serversHere(tenant);
  if (silent[0] !== undefined)
    return {
      problem: `Its server, process ${silent[0]}, does not answer`,
      remedy: "Read its log, and end the process if it stays silent; then start it again",
    };
  if (failing[0])
    return {
      problem: `Its server at ${failing[0].url} cannot serve it: ${failing[0].problem}`,
      remedy: "Fix that; the server tries again within a minute",
    };
  const problems = [UNSERVED];
  const options: string[] = [];
  const taken = [port, opsPort];
  for (const listener of [
    { option: "--port", host, port },
    { option: "--ops-port", host: opsHost, port: opsPort },
  ]) {
    if ((await problemOfPort(listener.host, listener.port)) !== "EADDRINUSE") continue;
    problems.push(`port ${listener.port} is held by ${await holderOf(tenant, listener.port)}`);
    const free = await freePort(listener.host, listener.port, taken);
    taken.push(free);
    options.push(`${listener.option} ${free}`);
  }
  return {
    problem: problems.join("; "),
    remedy: "Start it as your deployment does, or here",
    command: ["pmctl serve", id, ...options].join(" "),
  };
}

/** Tries to listen, because the answer depends on the user, the host and other programs. */
export function problemOfPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error) => resolve(isErrno(error) ? error.code : error.message));
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
}

/** @returns 0, which takes any free port, where none of the next ones is free */
async function freePort(host: string, held: number, taken: readonly number[]): Promise<number> {
  for (let port = held + 1; port <= Math.min(held + TRIED, 65_535); port += 1)
    if (!taken.includes(port) && (await problemOfPort(host, port)) === undefined) return port;
  return 0;
}

/** Who listens on the port, as far as this user may see it: a tenant's server, a process, or another program. */
async function holderOf({ directory }: OperatorTenant, port: number): Promise<string> {
  const pid = await listenerOn(port).catch(() => undefined);
  if (pid === undefined) return "another program";
  const tenants = [DEMO_TENANT, ...folderNames(join(directory, "tenants"))];
  const served = tenants.find((id) => serverPids(directory, id).includes(pid));
  if (served !== undefined) return `the server of ${served}, process ${pid}`;
  const [program = ""] = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
  return program === "" ? `process ${pid}` : `${basename(program)}, process ${pid}`;
}

/** The process that listens on the port; undefined where the system has no `/proc`, or the process is another user's. */
async function listenerOn(port: number): Promise<number | undefined> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  // proc_pid_net(5): address:port in hexadecimal, 0A for a listening socket, and the inode in the tenth column.
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const inodes = tables
    .flatMap((table) => table.split("\n").map((line) => line.trim().split(/\s+/)))
    .filter(([, local, , state]) => local?.endsWith(wanted) && state === "0A")
    .map((columns) => `socket:[${columns[9]}]`);
  if (inodes.length === 0) return undefined;
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const file of files)
      if (inodes.includes(await readlink(`/proc/${pid}/fd/${file}`).catch(() => ""))) return Number(pid);
  }
  return undefined;
}
