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
 * Who may connect: the user that the kernel reports at the other end of the socket, as one of the logins that
 * pg_ident.conf lists for that user. Nothing else is listed, so the superuser, TCP and replication are refused.
 */
const rules = `# pmctl writes this file and pg_ident.conf: your changes will be overwritten.
local all all peer map=${map}
`;

/**
 * Statements for the superuser. They close the databases of every cluster to the serving logins; the owner needs the
 * first one to create databases.
 */
export const closeCommonDatabases = [
  `revoke connect, temporary on database ${maintenanceDatabase}, template1 from public`,
  `grant connect on database ${maintenanceDatabase} to ${ownerRole}`,
] as const;

/**
 * Updates a running cluster with other rules, because its directory was given to another user or its files were
 * changed. The server reloads the rules; no connection ends.
 */
export async function enforceAccess(site: Site): Promise<void> {
  if (await hasRules(site)) return;
  try {
    const close = async (sql: postgres.Sql) => {
      for (const statement of closeCommonDatabases) await sql.unsafe(statement);
    };
    await query(site, close, superuser);
  } catch (error) {
    // The operator's own rules, or our rules for other users, refuse the superuser.
    if (!(error instanceof postgres.PostgresError) || !error.code.startsWith("28")) throw error;
  }
  await writeRules(site, site.dataDir, await serverAccount(site.dataDir));
  const server = await findPostmaster(site.dataDir);
  if (server) process.kill(server.pid, "SIGHUP");
}

/** User ids: root and the owner of `.pmctl`, but not the account under which root runs the server. */
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

/** Writes the rules of a cluster. While it is being created, `dataDir` is a temporary path. */
export async function writeRules(site: Site, dataDir: string, account: Account): Promise<void> {
  const users = await operators(site);
  const names = (await Promise.all(users.map(nameOf))).filter((name) => name !== undefined);
  const lines = names.flatMap((name) => [`${map} "${name}" ${ownerRole}`, `${map} "${name}" /^${serverLoginPrefix}`]);
  // The rules are permanent: a cluster that has them is not checked again.
  const owner = account.isCaller ? undefined : account;
  writeWhole(join(dataDir, "pg_ident.conf"), [headline(users), ...lines, ""].join("\n"), { owner });
  writeWhole(join(dataDir, "pg_hba.conf"), rules, { owner });
}

/** Looks the user up like PostgreSQL, including LDAP and other user directories. A user without a name cannot get access. */
async function nameOf(uid: number): Promise<string | undefined> {
  const { execa } = await import("execa");
  const { stdout, exitCode } = await execa("id", ["-nu", String(uid)], { reject: false });
  return exitCode === 0 ? stdout : undefined;
}
