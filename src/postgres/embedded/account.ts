import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { unlessMissing } from "../../state/state-directory.ts";
import { ClusterError } from "./errors.ts";

/** The operating system user under which the server runs and which owns its data. */
export interface Account {
  uid: number;
  gid: number;
  /** True for the user who runs pmctl; false if root runs the server as another user. */
  isCaller: boolean;
}

// Debian's and Red Hat's packages create `postgres`; every system has user 65534.
const unprivilegedNames = ["postgres", "nobody"];

/**
 * Chooses the server's account. PostgreSQL refuses to run as root, so root runs it as the owner of the existing data,
 * or else as an unprivileged user. Every other user runs it under the own account.
 * @throws ClusterError if the data belongs to a user that this process cannot become
 */
export async function serverAccount(dataDir: string): Promise<Account> {
  const uid = process.geteuid?.() ?? -1;
  const gid = process.getegid?.() ?? -1;
  const owner = await unlessMissing(stat(dataDir), undefined);
  if (uid !== 0) {
    if (owner && owner.uid !== uid) {
      throw new ClusterError(
        `The database in ${dataDir} belongs to user id ${owner.uid}, and this is user id ${uid}. Run pmctl as the user who created it, or as root.`,
      );
    }
    return { uid, gid, isCaller: true };
  }
  if (!owner) return { ...(await unprivilegedUser()), isCaller: false };
  if (owner.uid === 0) {
    throw new ClusterError(
      `The database in ${dataDir} belongs to root, and PostgreSQL does not run as root. Give it back to its user: chown -R postgres ${dataDir}`,
    );
  }
  return { uid: owner.uid, gid: owner.gid, isCaller: false };
}

async function unprivilegedUser(): Promise<{ uid: number; gid: number }> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  for (const name of unprivilegedNames) {
    const [, , uid, gid] = lines.find((fields) => fields[0] === name) ?? [];
    // macOS writes the ids of `nobody` as -2, the kernel as an unsigned number.
    if (uid && gid) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  throw new ClusterError(
    "PostgreSQL does not run as root, and this machine has neither a user `postgres` nor `nobody` to run it as. Create one (useradd --system postgres), or run pmctl as an ordinary user.",
  );
}

/**
 * Whether the account can pass through a directory and all its parents. Computed from the modes without supplementary
 * groups, because the server runs without any.
 */
export async function canReach(account: Account, directory: string): Promise<boolean> {
  const { uid, gid, mode } = await stat(directory);
  const bit = account.uid === uid ? 0o100 : account.gid === gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  return directory === "/" || canReach(account, dirname(directory));
}

/**
 * The execa options that start a program as the account. The environment is neutral, so that neither the operator's
 * `PG*` variables nor the home directory reach the server, and `/` is accessible to every user. Node drops the
 * supplementary groups by itself when it changes the user.
 */
export function runAs(account: Account) {
  return {
    cwd: "/",
    extendEnv: false,
    env: { PATH: "/usr/bin:/bin", HOME: "/", LC_ALL: "C", TZ: "UTC" },
    ...(account.isCaller ? {} : { uid: account.uid, gid: account.gid }),
  };
}
