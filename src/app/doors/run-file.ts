import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isErrno } from "../../config/environment.ts";
import { isAlive, serversFolder } from "../../config/selection/running-demo.ts";
import { parseJson } from "../../domain/json/parse-json.ts";

/** A server of this machine, as it is written to `.pmctl/servers/<tenant>-<pid>.json`. */
export interface RunFile {
  pid: number;
  /** Of the API, as commands on this machine dial it. */
  url: string;
  /** The operations listener. */
  opsUrl: string;
  /**
   * The id of the key that seals its audit log. A tenant of a house that was not opened yet states none, and servers of older
   * versions write neither this nor a secret.
   */
  auditKeyId?: string;
  /** What the process proves itself by. The reader leaves it out where other users could have read it. */
  secret?: string;
  /** A `Host` that admin operations are served under; undefined where any will do. */
  adminHost?: string;
  /** Set by the reader: the file holds no secret, so its server is of an older version. */
  isOlder?: true;
}

const SECRET_BYTES = 32;
/** Of so many bytes in base64url. */
const SECRET_LENGTH = 43;
/** The bits of everyone but the owner. */
const OTHERS = 0o077;

/** What a process proves itself by. */
export function newProofSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/** Announces to commands of this directory that this process serves the tenant. Resolves to the file's path. */
export async function writeRunFile(directory: string, tenant: string, server: RunFile): Promise<string> {
  // Creates `.pmctl` with its permissions and its .gitignore.
  const { createRoot } = await import("../../postgres/embedded/home.ts");
  await createRoot(join(directory, ".pmctl"));
  const folder = serversFolder(directory);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const file = join(folder, `${tenant}-${server.pid}.json`);
  // Renamed into place, so that no reader finds half of it; created anew, so that its mode is this one from the start.
  await rm(`${file}.new`, { force: true });
  await writeFile(`${file}.new`, `${JSON.stringify(server)}\n`, { mode: 0o600, flag: "wx" });
  await rename(`${file}.new`, file);
  return file;
}

/** Removes the file of a process, if it is there. */
export async function removeRunFile(directory: string, tenant: string, pid: number): Promise<void> {
  await rm(join(serversFolder(directory), `${tenant}-${pid}.json`), { force: true });
}

/** The servers of a tenant whose process is alive, the newest process first. Files of dead processes are removed. */
export async function findServers(directory: string, tenant: string): Promise<RunFile[]> {
  const names = await readdir(serversFolder(directory)).catch((error: unknown) => {
    if (isErrno(error) && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  });
  const found = await Promise.all(
    names
      .filter((name) => name.startsWith(`${tenant}-`) && /^\d+\.json$/.test(name.slice(tenant.length + 1)))
      .map((name) => readRunFile(join(serversFolder(directory), name))),
  );
  return found.filter((server) => server !== undefined).toSorted((a, b) => b.pid - a.pid);
}

async function readRunFile(file: string): Promise<RunFile | undefined> {
  const server = parseRunFile(await readFile(file, "utf8").catch(() => ""));
  if (server && isAlive(server.pid)) {
    if (await isPrivate(file)) return server;
    const { secret, ...known } = server;
    return known;
  }
  // Its process was killed before it could remove the file.
  await rm(file, { force: true }).catch(() => undefined);
  return undefined;
}

function parseRunFile(text: string): RunFile | undefined {
  const { pid, url, opsUrl, auditKeyId, secret, adminHost } = (parseJson(text) ?? {}) as Record<string, unknown>;
  if (!Number.isSafeInteger(pid) || Number(pid) < 1 || typeof url !== "string" || typeof opsUrl !== "string")
    return undefined;
  return {
    pid: Number(pid),
    url,
    opsUrl,
    ...(typeof auditKeyId === "string" ? { auditKeyId } : {}),
    ...(typeof secret === "string" && secret.length >= SECRET_LENGTH ? { secret } : {}),
    ...(typeof adminHost === "string" ? { adminHost } : {}),
    ...(secret === undefined ? { isOlder: true } : {}),
  };
}

/** Whether only the owner can have read the file, or put it there. */
async function isPrivate(file: string): Promise<boolean> {
  try {
    const modes = await Promise.all([file, dirname(file)].map(async (path) => (await stat(path)).mode));
    return modes.every((mode) => (mode & OTHERS) === 0);
  } catch {
    return false;
  }
}
