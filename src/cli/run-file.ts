import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../config/environment.ts";

/** A server that runs on this machine, as its file `.pmctl/servers/<tenant>-<pid>.json` tells. */
export interface RunFile {
  pid: number;
  /** The API. */
  url: string;
  /** The operations listener. */
  opsUrl: string;
}

/** Tells other commands of this directory that this process serves the tenant. Resolves to the file's path. */
export async function writeRunFile(directory: string, tenant: string, server: RunFile): Promise<string> {
  // The embedded database made the folder's rules: who may pass, and what git sees.
  const { createRoot } = await import("../store/embedded/home.ts");
  await createRoot(join(directory, ".pmctl"));
  const folder = serversFolder(directory);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${tenant}-${server.pid}.json`);
  // Renamed into place, so that nobody reads half of it.
  await writeFile(`${file}.new`, `${JSON.stringify(server)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return file;
}

/** Takes the file of a process away; no error when it is gone. */
export async function removeRunFile(directory: string, tenant: string, pid: number): Promise<void> {
  await rm(join(serversFolder(directory), `${tenant}-${pid}.json`), { force: true });
}

/** The servers of a tenant whose process is alive, the newest process first. Files of dead ones are taken away. */
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
  if (server && isAlive(server.pid)) return server;
  // Its process was killed before it could do so itself.
  await rm(file, { force: true }).catch(() => undefined);
  return undefined;
}

function parseRunFile(text: string): RunFile | undefined {
  try {
    const { pid, url, opsUrl } = JSON.parse(text) as Record<string, unknown>;
    if (Number.isSafeInteger(pid) && Number(pid) > 0 && typeof url === "string" && typeof opsUrl === "string")
      return { pid: Number(pid), url, opsUrl };
  } catch {
    // Not ours: treated like a file without a process.
  }
  return undefined;
}

/** Signal 0 only asks. Not being allowed to send it means that there is somebody to send it to. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error) && error.code === "EPERM";
  }
}

function serversFolder(directory: string): string {
  return join(directory, ".pmctl", "servers");
}
