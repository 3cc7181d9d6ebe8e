import { accessSync, constants, existsSync } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { isErrno } from "../../config/environment.ts";
import { shellWord } from "../../domain/text.ts";
import { embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { type Finding, fail, ok, skipped, warn } from "./check.ts";

/** Facts about the machine and the operator's directory. */
export type MachineFacts = Awaited<ReturnType<typeof collectMachine>>;

/** Major and minor. */
const OLDEST_NODE = [24, 15] as const;
const MIB = 1024 * 1024;
/** PostgreSQL stops without room for its log, which grows by 16 MiB at a time. */
const NO_ROOM_BYTES = 256 * MIB;
const LITTLE_ROOM_BYTES = 2048 * MIB;

/** @param needsEmbedded whether any tenant uses the embedded database */
export async function collectMachine(directory: string, needsEmbedded: boolean) {
  const cluster = embeddedCluster(directory);
  // Starts nothing; fails when the platform has no programs.
  const status = await cluster.status().catch((error: unknown) => error as Error);
  const dataDir = status instanceof Error ? directory : status.dataDir;
  return {
    /** Such as 24.21.0. */
    node: process.versions.node,
    /** Why the embedded PostgreSQL cannot run here; null when its programs are installed. */
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
  if (!needsEmbedded) return skipped("disk", "no tenant's database is on this machine");
  if (free === null) return skipped("disk", `the file system of ${dataDir} does not say how much is free`);
  const found = `${Math.floor(free / MIB)} MiB are free at ${dataDir}`;
  const remedy = "Free some space, or move the directory: without space PostgreSQL stops, and trading with it";
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

interface EnvFileFacts {
  directory: string;
  /** Permission bits of `.env`; null when there is none. */
  mode: number | null;
  git: "no repository" | "ignored" | "not ignored" | "tracked";
}

const GIT_TIMEOUT_MS = 5000;
const OTHERS = 0o007;
const GROUP = 0o070;

export async function collectEnvFile(directory: string): Promise<EnvFileFacts> {
  const mode = await stat(join(directory, ".env")).then(
    (stats) => stats.mode & 0o777,
    (error: unknown) => {
      if (isErrno(error) && error.code === "ENOENT") return null;
      throw error;
    },
  );
  return { directory, mode, git: mode === null ? "no repository" : await askGit(directory) };
}

async function askGit(directory: string): Promise<EnvFileFacts["git"]> {
  const git = async (...args: string[]) => {
    const options = { cwd: directory, reject: false, stdin: "ignore", timeout: GIT_TIMEOUT_MS } as const;
    return (await execa("git", args, options)).exitCode;
  };
  if ((await git("rev-parse", "--is-inside-work-tree")) !== 0) return "no repository";
  if ((await git("ls-files", "--error-unmatch", ".env")) === 0) return "tracked";
  return (await git("check-ignore", "-q", ".env")) === 0 ? "ignored" : "not ignored";
}

export function evaluateEnvFile({ directory, mode, git }: EnvFileFacts): Finding[] {
  if (mode === null) return [skipped(".env", "no .env file: secrets come from the environment or from files")];
  return [evaluateMode(mode, directory), evaluateGit(git, directory)];
}

function evaluateMode(mode: number, directory: string): Finding {
  const text = mode.toString(8).padStart(3, "0");
  const remedy = ["Take those rights away", `chmod 600 ${shellWord(join(directory, ".env"))}`] as const;
  if ((mode & OTHERS) !== 0)
    return fail(".env permissions", `mode ${text}: every user of this machine may read or change it`, ...remedy);
  if ((mode & GROUP) !== 0) return warn(".env permissions", `mode ${text}: its group may read or change it`, ...remedy);
  return ok(".env permissions", `mode ${text}: only you may read it`);
}

function evaluateGit(git: EnvFileFacts["git"], directory: string): Finding {
  if (git === "no repository") return ok(".env and git", "not in a git repository");
  if (git === "ignored") return ok(".env and git", "git ignores it");
  if (git === "not ignored")
    return fail(
      ".env and git",
      "git does not ignore it: the next `git add .` would publish it",
      "Add it to .gitignore",
      `echo .env >> ${shellWord(join(directory, ".gitignore"))}`,
    );
  return fail(
    ".env and git",
    "it is committed to git, with every secret in it",
    "Replace every secret in it, because the history keeps them; ignore it, and take it out of git",
    `git -C ${shellWord(directory)} rm --cached .env`,
  );
}
