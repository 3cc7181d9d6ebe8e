import { accessSync, constants, existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { type Finding, fail, ok, skipped, warn } from "./check.ts";

/** Of the machine and the operator's directory. */
export type MachineFacts = Awaited<ReturnType<typeof collectMachine>>;

/** Major and minor. */
const OLDEST_NODE = [24, 15] as const;
const MIB = 1024 * 1024;
/** PostgreSQL stops when there is no room for its log, which grows by 16 MiB at a time. */
const NO_ROOM_BYTES = 256 * MIB;
const LITTLE_ROOM_BYTES = 2048 * MIB;

/** @param needsEmbedded whether any tenant uses the embedded database */
export async function collectMachine(directory: string, needsEmbedded: boolean) {
  const cluster = embeddedCluster(directory);
  // Starts nothing; it fails when the platform has no programs.
  const status = await cluster.status().catch((error: unknown) => error as Error);
  const dataDir = status instanceof Error ? directory : status.dataDir;
  return {
    /** Such as 24.21.0. */
    node: process.versions.node,
    /** Why the embedded PostgreSQL cannot run here; null when its programs are there. */
    binariesProblem: status instanceof Error ? status.message : null,
    embeddedVersion: status instanceof Error ? null : status.version,
    needsEmbedded,
    directory,
    isWritable: isWritable(directory),
    dataDir,
    /** Null where the file system does not say. */
    freeBytes: await freeBytes(existsSync(dataDir) ? dataDir : directory),
  };
}

export function evaluateMachine(facts: MachineFacts): Finding[] {
  return [evaluateNode(facts), evaluateBinaries(facts), evaluateDirectory(facts), evaluateDisk(facts)];
}

function evaluateNode({ node }: MachineFacts): Finding {
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const isOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
  if (!isOld) return ok("node", `version ${node}`);
  const oldest = `${oldestMajor}.${oldestMinor}`;
  return fail("node", `version ${node} is older than ${oldest}`, `Install Node.js ${oldest} or newer`);
}

function evaluateBinaries({ binariesProblem, embeddedVersion, needsEmbedded }: MachineFacts): Finding {
  if (binariesProblem === null) return ok("embedded PostgreSQL", `version ${embeddedVersion} is installed`);
  const remedy =
    "Install pmctl again without --omit=optional, or set database: { url: { env: ... } } in the tenant file";
  return needsEmbedded
    ? fail("embedded PostgreSQL", binariesProblem, remedy)
    : skipped("embedded PostgreSQL", "not installed, and no tenant needs it");
}

function evaluateDirectory({ directory, isWritable: writable }: MachineFacts): Finding {
  if (writable) return ok("directory", `${directory} can be written to`);
  return fail("directory", `${directory} cannot be written to`, `Give this user the right to write to ${directory}`);
}

function evaluateDisk({ needsEmbedded, dataDir, freeBytes: free }: MachineFacts): Finding {
  if (!needsEmbedded) return skipped("disk", "no tenant's database is on it");
  if (free === null) return skipped("disk", `the file system of ${dataDir} does not say how much is free`);
  const found = `${Math.floor(free / MIB)} MiB are free at ${dataDir}`;
  const remedy = "Make room, or move the directory: without room PostgreSQL stops, and trading with it";
  if (free < NO_ROOM_BYTES) return fail("disk", found, remedy);
  return free < LITTLE_ROOM_BYTES ? warn("disk", found, remedy) : ok("disk", found);
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function freeBytes(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}
