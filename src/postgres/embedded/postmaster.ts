import { spawn } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { errorCode, unlessMissing } from "../../state/state-directory.ts";
import { type Account, runAs } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { ClusterError } from "./errors.ts";
import type { Site } from "./home.ts";
import { lastLines, lastWords, openStartLog, startLog } from "./logs.ts";
import { launchArguments } from "./settings.ts";
import { socketDirectory } from "./socket.ts";

/** A live server process. Until it is ready it is recovering; after that it may be stopping. */
export interface Postmaster {
  pid: number;
  isReady: boolean;
}

const pollMs = 20;
const startTimeoutMs = 60_000;
const stopTimeoutMs = 60_000;
const relaunchPauseMs = 200;

/**
 * The server of a data directory; undefined if none is alive. Reads PostgreSQL's own postmaster.pid: line 1 is the
 * process, line 8 the state.
 * @see https://github.com/postgres/postgres/blob/REL_18_STABLE/src/include/utils/pidfile.h
 */
export async function findPostmaster(dataDir: string): Promise<Postmaster | undefined> {
  const lines = await readPidFile(dataDir);
  const pid = Number(lines[0]);
  if (!(pid > 0) || !(await isServerOf(pid, dataDir))) return undefined;
  return { pid, isReady: lines[7]?.trim() === "ready" };
}

async function readPidFile(dataDir: string): Promise<string[]> {
  try {
    return (await unlessMissing(readFile(join(dataDir, "postmaster.pid"), "utf8"), "")).split("\n");
  } catch (error) {
    throw new ClusterError(
      `Cannot look into ${dataDir}. Run pmctl as the user who created this database, or as root.`,
      { cause: error },
    );
  }
}

/**
 * A live process id proves little: after a container restart the same small numbers belong to other programs, and a
 * container without an init keeps a killed server as a zombie for ever.
 */
async function isServerOf(pid: number, dataDir: string): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    // The process is gone; or it belongs to another user and is not the server, which runs as the owner of these files.
    return false;
  }
  if (process.platform !== "linux") return true;
  // The server's working directory is its data directory, even after a move. A zombie has none.
  const [workingDir, data] = await Promise.all([stat(`/proc/${pid}/cwd`).catch(() => undefined), stat(dataDir)]);
  if (workingDir) return workingDir.dev === data.dev && workingDir.ino === data.ino;
  // In a container, root lacks CAP_SYS_PTRACE and cannot follow that link of another user's process, but can read its arguments.
  const args = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return args.split("\0").includes(dataDir);
}

/** Waits until a starting or stopping server has finished. Resolves to whether a server is ready; at once if none is alive. */
export async function settle(dataDir: string): Promise<boolean> {
  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    const found = await findPostmaster(dataDir);
    if (!found || found.isReady) return found !== undefined;
    if (performance.now() > deadline) {
      throw new ClusterError(
        `The embedded PostgreSQL (process ${found.pid}) has been starting or stopping for ${startTimeoutMs / 1000} s. It may be replaying its log after a crash: try again in a minute.`,
      );
    }
    await delay(pollMs);
  }
}

/**
 * Starts the server unless it is alive, and waits until it accepts connections.
 * @throws ClusterError with the server's last messages if it ends or takes longer than a minute
 */
export async function bringUp(site: Site, binaries: Binaries, account: Account): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  let child: Launched | undefined;
  while (performance.now() < deadline) {
    const found = await findPostmaster(site.dataDir);
    if (found?.isReady) return;
    if (!found && child?.hasEnded) {
      if (!(await mayPass(site.home))) throw await startError(site.home, "The embedded PostgreSQL did not start.");
      child = undefined;
      await delay(relaunchPauseMs);
    }
    if (!found && !child) child = await launch(site, binaries, account);
    await delay(pollMs);
  }
  throw await startError(
    site.home,
    `The embedded PostgreSQL was not ready within ${startTimeoutMs / 1000} s. It may still be replaying its log after a crash: try again in a minute.`,
  );
}

interface Launched {
  hasEnded: boolean;
}

/**
 * Starts the server in a separate session, so that it survives this command and Ctrl-C in its terminal. Uses Node's own
 * spawn, because execa supervises its children, and this child must be left alone.
 */
async function launch(site: Site, binaries: Binaries, account: Account): Promise<Launched> {
  const [stalePid] = await readPidFile(site.dataDir);
  const options = runAs(account);
  await using log = await openStartLog(site.home, account);
  const child = spawn(binaries.postgres, await launchArguments(site.dataDir, socketDirectory(site.home)), {
    ...options,
    // `findPostmaster` saw that this process is not the server. PostgreSQL alone only sees that some process has the
    // number, and refuses. It makes an exception for the number in this variable, which pg_ctl uses for its own parent.
    // Deleting postmaster.pid would disable the check for surviving children of a killed server.
    env: { ...options.env, ...(stalePid ? { PG_GRANDPARENT_PID: stalePid } : {}) },
    stdio: ["ignore", log.fd, log.fd],
    detached: true,
  });
  const launched: Launched = { hasEnded: false };
  for (const event of ["exit", "error"]) {
    child.once(event, () => {
      launched.hasEnded = true;
    });
  }
  child.unref();
  return launched;
}

/** After `kill -9` of a server, its children hold the shared memory until they notice; or a server is just starting. */
async function mayPass(home: string): Promise<boolean> {
  return /pre-existing shared memory block|lock file "[^"]*" (already exists|is empty)/.test(
    await lastLines(startLog(home)),
  );
}

async function startError(home: string, sentence: string): Promise<ClusterError> {
  return new ClusterError(`${sentence}\n${await lastWords(home)}`);
}

/**
 * Shuts the server down: sessions end, and everything committed is kept.
 * @throws ClusterError if it still runs after a minute
 */
export async function shutDown(site: Site, pid: number): Promise<void> {
  try {
    process.kill(pid, "SIGINT");
  } catch (error) {
    // The server has just ended by itself.
    if (errorCode(error) !== "ESRCH") throw error;
  }
  const deadline = performance.now() + stopTimeoutMs;
  while ((await findPostmaster(site.dataDir)) !== undefined) {
    if (performance.now() > deadline) {
      throw await startError(
        site.home,
        `The embedded PostgreSQL (process ${pid}) has not stopped within ${stopTimeoutMs / 1000} s.`,
      );
    }
    await delay(pollMs);
  }
}
