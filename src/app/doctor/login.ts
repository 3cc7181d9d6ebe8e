import type { LoginRights } from "../../queries/login.ts";
import { ownerRemedy } from "../tenant/database-owner.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const CHECK = "database login";
const OWNER_CHECK = "database owner";
const SHOWN = 6;

/**
 * Whether the login that creates and migrates the database can do so.
 * @param problem why not
 * @param isNamed whether the tenant file has a `database.ownerUrl`; without, the login that serves has to be the owner
 */
export function judgeOwner(problem: string | undefined, isNamed: boolean): Check {
  const field = isNamed ? "database.ownerUrl" : "database.url";
  if (problem === undefined) return ok(OWNER_CHECK, `the login that ${field} names can migrate the database`);
  const nobody = isNamed ? "" : ", and no login is named that can migrate it";
  const remedy = ownerRemedy(isNamed);
  return warn(OWNER_CHECK, `${field} ${problem}${nobody}`, remedy.replace(/^p/, "P"));
}

/**
 * Whether the login that serves can do more than it needs.
 * @param isOwner it is the owner too, because the tenant file names no other
 */
export function judgeLogin({ login, excess }: LoginRights, isOwner: boolean): Check {
  const more = excess.length > SHOWN ? [`and ${excess.length - SHOWN} more`] : [];
  const found = [...excess.slice(0, SHOWN), ...more].join("; ");
  if (isOwner)
    return warn(
      CHECK,
      `${login} serves and owns the database: a server that is taken over can rewrite the record (${found})`,
      "Give the server a login of its own, and name the owner's in database.ownerUrl: see the README",
    );
  if (excess.length > 0)
    return fail(
      CHECK,
      `${login}, as which servers connect, ${found}`,
      "Take that from it: the README says what it needs, and apply grants it",
    );
  return ok(CHECK, `${login} owns nothing, adds to the journals and cannot change what is in them`);
}
