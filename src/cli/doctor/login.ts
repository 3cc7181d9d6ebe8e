import type { LoginRights } from "../../store/queries/login.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const CHECK = "database login";
const SHOWN = 6;

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
