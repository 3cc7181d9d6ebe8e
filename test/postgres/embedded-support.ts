import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import postgres from "postgres";
import { type Cluster, type ClusterOptions, embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";

export const clusterModule = new URL("../../src/postgres/embedded/cluster.ts", import.meta.url).href;

const directories: string[] = [];
const clusters: Cluster[] = [];

/** Stops all clusters and removes all directories that were made here: for `afterAll` of each file that makes some. */
export async function endClusters(): Promise<void> {
  for (const cluster of clusters.splice(0)) await cluster.stop();
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
}

/** A directory that everyone can pass through, until {@link endClusters}. */
export async function createDirectory(): Promise<string> {
  const directory = await mkdtemp("/tmp/pmctl-embedded-");
  await chmod(directory, 0o755);
  directories.push(directory);
  return directory;
}

export function clusterIn(directory: string, options?: ClusterOptions): Cluster {
  const cluster = embeddedCluster(directory, options);
  clusters.push(cluster);
  return cluster;
}

export async function ask(connection: ClusterConnection, statement: string): Promise<unknown> {
  const sql = postgres({ ...connection, max: 1, onnotice: () => {} });
  try {
    const [row] = await sql.unsafe(statement);
    return row && Object.values(row)[0];
  } finally {
    await sql.end({ timeout: 5 });
  }
}

export async function serverPid(cluster: Cluster): Promise<number> {
  const { dataDir } = await cluster.status();
  const pid = Number((await readFile(join(dataDir, "postmaster.pid"), "utf8")).split("\n")[0]);
  // A signal to 0 goes to this process and all of its group.
  if (!(pid > 1)) throw new Error(`${dataDir} names no server`);
  return pid;
}

interface ProcessOptions {
  umask?: number;
  uid?: number;
  gid?: number;
}

/** Runs one method in a process of its own, as another command would. */
export function inProcess(
  directory: string,
  method: "start" | "stop",
  { umask = 0o022, ...user }: ProcessOptions = {},
) {
  const script = `
    import { embeddedCluster } from ${JSON.stringify(clusterModule)};
    process.umask(${umask});
    process.stdout.write(JSON.stringify(await embeddedCluster(${JSON.stringify(directory)}).${method}()));`;
  return execa(process.execPath, ["--input-type=module", "--eval", script], { cwd: "/", ...user });
}

export async function keepAnswer(cluster: Cluster): Promise<void> {
  await cluster.createDatabase("kept");
  await ask(cluster.connection("kept"), "create table kept as select 42 as answer");
}

export async function keptAnswer(cluster: Cluster): Promise<unknown> {
  return ask(cluster.connection("kept"), "select answer from kept");
}

/** Kills the server as the machine's power or its OOM killer would; its children may outlive it for a moment. */
export async function crash(cluster: Cluster): Promise<void> {
  process.kill(await serverPid(cluster), "SIGKILL");
  await waitUntil(async () => !(await cluster.status()).running);
}

export async function listNames(directory: string): Promise<string[]> {
  return existsSync(directory) ? readdir(directory) : [];
}

export async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(10);
}
