import { Fault } from "../domain/fault.ts";
import type { Sql } from "./connect.ts";

const OLDEST_MAJOR = 15;

/** Engines that state PostgreSQL's version first and their own name after it. */
const OTHERS =
  /\b(?:YugabyteDB|Redshift|Materialize|RisingWave|Greenplum|Cloudberry|openGauss|GaussDB|QuestDB|CrateDB|CockroachDB)(?: Database)?(?: v?\d[\w.]*)?/i;

/** PostgreSQL's version without a suffix: `11.2-YB-2.20` is another engine's. */
const POSTGRESQL = /^PostgreSQL (\d+)(?:\.\d+)*(?:devel|(?:alpha|beta|rc)\d+)?(?=[\s,(]|$)/;

/**
 * Why pmctl does not run on an engine; undefined for PostgreSQL 15 or newer, of any build. Engines that only speak its
 * protocol have different rules for types, isolation and commits, on which exactness depends.
 * @param version the engine's answer to `select version()`
 */
export function engineProblem(version: string): string | undefined {
  // Only an engine that begins with PostgreSQL's name is looked up; others begin with their own name.
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
 * Checks the engine before reading any table.
 * @throws Fault ENGINE_UNSUPPORTED if the server is not PostgreSQL 15 or newer
 */
export async function requirePostgres(sql: Sql): Promise<void> {
  const [row] = await sql<{ version: string }[]>`select version()`.simple();
  const problem = engineProblem(String(row?.version));
  if (problem !== undefined) throw new Fault("ENGINE_UNSUPPORTED", problem);
}
