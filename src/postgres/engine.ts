import { Fault } from "../domain/fault.ts";
import type { Sql } from "./connect.ts";

const OLDEST_MAJOR = 15;

/** Engines that put PostgreSQL's version first and their own name behind it. */
const OTHERS =
  /\b(?:YugabyteDB|Redshift|Materialize|RisingWave|Greenplum|Cloudberry|openGauss|GaussDB|QuestDB|CrateDB|CockroachDB)(?: Database)?(?: v?\d[\w.]*)?/i;

/** PostgreSQL's version without a suffix: `11.2-YB-2.20` is another engine's. */
const POSTGRESQL = /^PostgreSQL (\d+)(?:\.\d+)*(?:devel|(?:alpha|beta|rc)\d+)?(?=[\s,(]|$)/;

/**
 * Why an engine is not one to trade on; undefined for PostgreSQL 15 or newer, of any build. What only speaks its
 * protocol has other rules for types, isolation and commits than those that exactness rests on.
 * @param version as the engine answers `select version()`
 */
export function engineProblem(version: string): string | undefined {
  // Only an engine that begins with PostgreSQL's name is looked up; any other names itself in front.
  const [own] = version.startsWith("PostgreSQL") ? (OTHERS.exec(version) ?? []) : [];
  const major = POSTGRESQL.exec(version)?.[1];
  if (own === undefined && major !== undefined) {
    if (Number(major) >= OLDEST_MAJOR) return undefined;
    return `The database is ${nameOf(version)}, and pmctl needs PostgreSQL ${OLDEST_MAJOR} or newer`;
  }
  const name = /^PostgreSQL \S+-YB-/.test(version) ? `YugabyteDB (${nameOf(version)})` : (own ?? nameOf(version));
  return `The database is ${name}, which only speaks PostgreSQL's protocol, and pmctl needs PostgreSQL ${OLDEST_MAJOR} or newer`;
}

/** The version's text before the machine and the compiler, short and printable. */
function nameOf(version: string): string {
  const [name = ""] = version.split(/ on |[,(]/);
  return (
    name
      .replaceAll(/[^\x20-\x7e]/g, "")
      .trim()
      .slice(0, 80) || "of an unknown kind"
  );
}

/**
 * Checks the engine before any table is read.
 * @throws Fault ENGINE_UNSUPPORTED when the server is not PostgreSQL 15 or newer
 */
export async function requirePostgres(sql: Sql): Promise<void> {
  const [row] = await sql<{ version: string }[]>`select version()`.simple();
  const problem = engineProblem(String(row?.version));
  if (problem !== undefined) throw new Fault("ENGINE_UNSUPPORTED", problem);
}
