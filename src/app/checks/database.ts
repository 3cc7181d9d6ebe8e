import { existsSync } from "node:fs";
import { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { type Connection, connect, type Sql } from "../../postgres/connect.ts";
import { externalConnection, isDenied, isMissingDatabase, isMissingLogin } from "../../postgres/database.ts";
import { readClock } from "../../postgres/database-time.ts";
import { embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { serverLogin } from "../../postgres/embedded/settings.ts";
import { readMigrations, schemaVersion } from "../../postgres/migrate.ts";
import { readVersion } from "../../queries/server.ts";
import { databaseUrlAtHand, type OperatorTenant } from "../tenant/operator-tenant.ts";
import { type Finding, fail, ok, skipped, warn } from "./check.ts";

export type DatabaseFacts =
  | {
      state: "answers";
      /** Version of PostgreSQL, such as 18.4. */
      version: string;
      schema: number;
      /** The version that this pmctl needs. */
      schemaNeeded: number;
      /** This machine's clock minus the database's, in milliseconds, with the uncertainty of the measurement. */
      clockDifferenceMs: number;
      clockUncertaintyMs: number;
    }
  | { state: "unreachable"; problem: string; isEmbedded: boolean }
  /** The server is not PostgreSQL 15 or newer. */
  | { state: "unsupported"; problem: string }
  /** No apply has granted the server's login its rights. */
  | { state: "not granted" }
  /** No server was ever started here, or the server has no such database. */
  | { state: "not created" };

const STATEMENT_TIMEOUT_MS = 5000;
/** A clock that is off by more is not synchronised. Tokens allow a difference of 30 s, webhooks of five minutes. */
const CLOCK_WARN_MS = 1000;
const CLOCK_FAIL_MS = 15_000;

/** Checks a tenant's database. @returns also the connection for further questions, which the caller ends */
export async function checkDatabase(
  tenant: OperatorTenant,
): Promise<{ checks: Finding[]; sql: Sql | undefined; isCurrent: boolean }> {
  const { id, directory, config } = tenant;
  const none = { sql: undefined, isCurrent: false };
  const url = databaseUrlAtHand(tenant, "url");
  if (url === undefined && config.database !== "embedded")
    return {
      ...none,
      checks: [skipped("database", "its URL is a secret that is missing or cannot be used")],
    };
  try {
    const { facts, sql } = await reachDatabase(directory, id, url);
    const isCurrent = facts.state === "answers" && facts.schema === facts.schemaNeeded;
    return { checks: evaluateDatabase(facts, id), sql, isCurrent };
  } catch (error) {
    return { ...none, checks: [fail("database", (error as Error).message, "Look at the message")] };
  }
}

/** Connects to a tenant's database without starting it. @param databaseUrl undefined for the embedded one */
async function reachDatabase(
  directory: string,
  tenant: string,
  databaseUrl: string | undefined,
): Promise<{ facts: DatabaseFacts; sql: Sql | undefined }> {
  const isEmbedded = databaseUrl === undefined;
  const cluster = embeddedCluster(directory);
  if (isEmbedded) {
    const { running, dataDir } = await cluster.status();
    if (!existsSync(dataDir)) return { facts: { state: "not created" }, sql: undefined };
    if (!running) return { facts: { state: "unreachable", problem: "it is stopped", isEmbedded }, sql: undefined };
  }
  let connection: Connection;
  try {
    connection = isEmbedded ? cluster.connection(tenant, serverLogin(tenant)) : await externalConnection(databaseUrl);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { facts: { state: "unsupported", problem: error.message }, sql: undefined };
  }
  const sql = connect(connection, { name: "doctor", max: 1, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  try {
    return { facts: await collectDatabase(sql), sql };
  } catch (error) {
    await sql.end({ timeout: 1 });
    if (isMissingDatabase(error)) return { facts: { state: "not created" }, sql: undefined };
    // The database exists, but no apply has created its login yet.
    if (isDenied(error) || (isEmbedded && isMissingLogin(error)))
      return { facts: { state: "not granted" }, sql: undefined };
    return { facts: { state: "unreachable", problem: (error as Error).message, isEmbedded }, sql: undefined };
  }
}

async function collectDatabase(sql: Sql): Promise<DatabaseFacts> {
  const version = await readVersion(sql);
  const schema = await schemaVersion(sql);
  const before = wallClockMs();
  const theirs = await readClock(sql);
  const after = wallClockMs();
  return {
    state: "answers",
    version,
    schema,
    schemaNeeded: (await readMigrations()).at(-1)?.version ?? 0,
    clockDifferenceMs: Math.round((before + after) / 2 - theirs),
    clockUncertaintyMs: Math.ceil((after - before) / 2),
  };
}

export function evaluateDatabase(facts: DatabaseFacts, tenant: string): Finding[] {
  if (facts.state === "not created")
    return [fail("database", `${tenant} has no database yet`, "Create it", `pmctl apply ${tenant}`)];
  if (facts.state === "not granted")
    return [fail("database", "the server's login has no rights in it yet", "Grant them", `pmctl apply ${tenant}`)];
  if (facts.state === "unreachable") {
    const found = `it cannot be reached: ${facts.problem}`;
    return [
      facts.isEmbedded
        ? fail("database", found, "Start it", `pmctl db start -t ${tenant}`)
        : fail("database", found, "Check the server, the network and the database URL"),
    ];
  }
  if (facts.state === "unsupported")
    return [fail("database", facts.problem, "Use PostgreSQL 15 or newer: the embedded one, or a server's")];
  return [
    ok("database", `PostgreSQL ${facts.version} answers`),
    evaluateSchema(facts.schema, facts.schemaNeeded, tenant),
    evaluateClock(facts.clockDifferenceMs, facts.clockUncertaintyMs),
  ];
}

function evaluateSchema(schema: number, needed: number, tenant: string): Finding {
  const found = `version ${schema}, and this pmctl needs ${needed}`;
  if (schema === needed) return ok("schema", `version ${schema} is current`);
  if (schema > needed) return fail("schema", found, "Upgrade pmctl: a newer version migrated this database");
  return fail("schema", found, "Migrate it", `pmctl db migrate -t ${tenant}`);
}

function evaluateClock(differenceMs: number, uncertaintyMs: number): Finding {
  const offMs = Math.max(0, Math.abs(differenceMs) - uncertaintyMs);
  if (offMs < CLOCK_WARN_MS)
    return ok("clock", `within ${Math.abs(differenceMs) + uncertaintyMs} ms of the database's`);
  const direction = differenceMs > 0 ? "ahead of" : "behind";
  const found = `this machine is ${(offMs / 1000).toFixed(1)} s ${direction} the database`;
  const remedy = "Let NTP (chrony, systemd-timesyncd) set both clocks";
  return offMs < CLOCK_FAIL_MS ? warn("clock", found, remedy) : fail("clock", found, remedy);
}
