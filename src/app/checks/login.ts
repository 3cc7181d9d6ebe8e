import { type LoginRights, readLoginRights, readOwnership } from "../../queries/login.ts";
import { ownerProblem, ownerRemedy, problemOf } from "../tenant/database-owner.ts";
import { databaseUrlAtHand, type OperatorTenant } from "../tenant/operator-tenant.ts";
import { type Examined, type Finding, fail, ok, skipped, warn } from "./check.ts";

const CHECK = "database login";
const OWNER_CHECK = "database owner";
const SHOWN = 6;

/**
 * Whether the login that creates and migrates the database can do so.
 * @param problem why the login cannot
 * @param isNamed whether the tenant file has a `database.ownerUrl`; without it the login that serves must be the owner
 */
function evaluateOwner(problem: string | undefined, isNamed: boolean): Finding {
  const field = isNamed ? "database.ownerUrl" : "database.url";
  if (problem === undefined) return ok(OWNER_CHECK, `the login that ${field} names can migrate the database`);
  const consequence = isNamed ? "" : ", and the tenant file names no login that can migrate it";
  const remedy = ownerRemedy(isNamed);
  return warn(OWNER_CHECK, `${field} ${problem}${consequence}`, remedy.replace(/^p/, "P"));
}

/**
 * Whether the login that serves can do more than it needs to.
 * @param isOwner whether it is also the owner, because the tenant file names no other login
 */
export function evaluateLogin({ login, excess }: LoginRights, isOwner: boolean): Finding {
  const more = excess.length > SHOWN ? [`and ${excess.length - SHOWN} more`] : [];
  const found = [...excess.slice(0, SHOWN), ...more].join("; ");
  if (isOwner)
    return warn(
      CHECK,
      `${login} serves and owns the database: an attacker on the server can rewrite the record (${found})`,
      "Give the server a login of its own, and name the owner's in database.ownerUrl: see docs/guides/handbook.md",
    );
  if (excess.length > 0)
    return fail(
      CHECK,
      `${login}, the login of the servers, ${found}`,
      "Revoke that: docs/guides/handbook.md says what the login needs, and apply grants it",
    );
  return ok(CHECK, `${login} owns nothing, adds to the journals and cannot change their rows`);
}

export async function examineLogins(tenant: Examined): Promise<Finding[]> {
  const { sql, config } = tenant;
  const { database } = config;
  const unknown = skipped(CHECK, "the database cannot be asked");
  if (database === "embedded") return [sql ? evaluateLogin(await readLoginRights(sql), false) : unknown];
  const owner = await examineOwner(tenant);
  if (!sql) return [unknown, ...owner];
  const problem = database.ownerUrl === undefined ? problemOf(await readOwnership(sql)) : undefined;
  const isOwner = database.ownerUrl === undefined && problem === undefined;
  return [
    evaluateLogin(await readLoginRights(sql), isOwner),
    ...(problem === undefined ? owner : [evaluateOwner(problem, false)]),
  ];
}

/** No finding where the owner's connection string is not available: a machine that only serves does not need it. */
async function examineOwner(tenant: OperatorTenant): Promise<Finding[]> {
  const url = databaseUrlAtHand(tenant, "ownerUrl");
  return url === undefined ? [] : [evaluateOwner(await ownerProblem({ url, pooled: true }), true)];
}
