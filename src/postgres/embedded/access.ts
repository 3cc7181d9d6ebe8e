import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { unlessMissing, writeWhole } from "../../state/state-directory.ts";
import { type Account, serverAccount } from "./account.ts";
import type { Site } from "./home.ts";
import { maintenanceDatabase, query } from "./maintenance.ts";
import { findPostmaster } from "./postmaster.ts";
import { ownerRole, serverLoginPrefix, superuser } from "./settings.ts";

const map = "pmctl";

/**
 * Who may connect: the user that the kernel names at the other end of the socket, as the logins that pg_ident.conf lists for
 * it. Nothing else is listed, so the superuser, TCP and replication are refused.
 */
const rules = `# pmctl writes this file, and pg_ident.conf beside it: changes do not last.
local all all peer map=${map}
`;

/**
 * Statements for the superuser. The databases that every cluster has are closed to the logins that serve; the owner needs the
 * first one to create databases from.
 */
export const closeCommonDatabases = [
  `revoke connect, temporary on database ${maintenanceDatabase}, template1 from public`,
  `grant connect on database ${maintenanceDatabase} to ${ownerRole}`,
] as const;

/**
 * Brings a running cluster to these rules when it has others: its directory was given to another user, or its
 * files were changed. The server reads the rules anew; no connection ends.
 */
export async function enforceAccess(site: Site): Promise<void> {
  if (await hasRules(site)) return;
  try {
    const close = async (sql: postgres.Sql) => {
      for (const statement of closeCommonDatabases) await sql.unsafe(statement);
    };
    await query(site, close, superuser);
  } catch (error) {
    // The superuser is refused by the operator's own rules, or by ours with other users.
    if (!(error instanceof postgres.PostgresError) || !error.code.startsWith("28")) throw error;
  }
  await writeRules(site, site.dataDir, await serverAccount(site.dataDir));
  const server = await findPostmaster(site.dataDir);
  if (server) process.kill(server.pid, "SIGHUP");
}

/** User ids: root, and the owner of `.pmctl`. The account that root runs the server as is not among them. */
async function operators({ root }: Site): Promise<number[]> {
  return [...new Set([0, (await stat(root)).uid])];
}

/** Whether a cluster has these rules. */
export async function hasRules(site: Site): Promise<boolean> {
  const [found, identities] = await Promise.all(
    ["pg_hba.conf", "pg_ident.conf"].map((name) => unlessMissing(readFile(join(site.dataDir, name), "utf8"), "")),
  );
  return found === rules && identities?.split("\n")[0] === headline(await operators(site));
}

function headline(users: readonly number[]): string {
  return `# user ids ${users.join(", ")}`;
}

/** Writes the rules of a cluster; while it is being created, `dataDir` is not in its place yet. */
export async function writeRules(site: Site, dataDir: string, account: Account): Promise<void> {
  const users = await operators(site);
  const names = (await Promise.all(users.map(nameOf))).filter((name) => name !== undefined);
  const lines = names.flatMap((name) => [`${map} "${name}" ${ownerRole}`, `${map} "${name}" /^${serverLoginPrefix}`]);
  // The rules last: a cluster that has them is not looked at again.
  const owner = account.isCaller ? undefined : account;
  writeWhole(join(dataDir, "pg_ident.conf"), [headline(users), ...lines, ""].join("\n"), { owner });
  writeWhole(join(dataDir, "pg_hba.conf"), rules, { owner });
}

/** As PostgreSQL looks it up: also in LDAP and other directories of users. A user without a name cannot be let in. */
async function nameOf(uid: number): Promise<string | undefined> {
  const { execa } = await import("execa");
  const { stdout, exitCode } = await execa("id", ["-nu", String(uid)], { reject: false });
  return exitCode === 0 ? stdout : undefined;
}
