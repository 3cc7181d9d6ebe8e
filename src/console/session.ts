import { coversScopes, type OperationScope, type Scope } from "../domain/access/scopes.ts";
import { consolePath } from "./place.ts";
import { Refused, refusedBy, unreachable } from "./refused.ts";

/** Who is signed in, as the server answers. The cookie itself is out of reach of scripts. */
export interface Session {
  tenant: string;
  /** Such as `admin:ops`. */
  actor: string;
  scopes: Scope[];
  csrfToken: string;
  createdAt: string;
  idleEndsAt: string;
  endsAt: string;
}

const PATH = consolePath("/session");

/** The present session; undefined before the sign-in. @throws Refused for any other failure */
export async function readSession(): Promise<Session | undefined> {
  const response = await fetch(PATH, { headers: { accept: "application/json" } }).catch(unreachable);
  if (response.status === 401) return undefined;
  return sessionIn(response);
}

/** Exchanges an admin key for a session. @throws Refused */
export async function signIn(key: string): Promise<Session> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return sessionIn(await fetch(PATH, { method: "POST", headers, body: JSON.stringify({ key }) }).catch(unreachable));
}

/** Ends the session on the server. A session that has ended already is no failure. @throws Refused */
export async function signOut({ csrfToken }: Session): Promise<void> {
  const response = await fetch(PATH, { method: "DELETE", headers: { "x-csrf-token": csrfToken } }).catch(unreachable);
  if (!response.ok && response.status !== 401) throw await refusedBy(response);
}

async function sessionIn(response: Response): Promise<Session> {
  if (!response.ok) throw await refusedBy(response);
  return (await response.json()) as Session;
}

/** Whether the session's key may call operations of a scope. */
export function mayUse({ scopes }: Pick<Session, "scopes">, scope: OperationScope): boolean {
  return coversScopes(scopes, [scope]);
}

/** The words for a refusal of the sign-in. */
export function signInProblem(error: unknown): string {
  if (!(error instanceof Refused)) return "Unexpected failure";
  if (error.code === "UNREACHABLE") return "The server cannot be reached. Try again.";
  const wait = error.retryAfterSec > 0 ? ` Try again in ${error.retryAfterSec} s.` : "";
  return `${error.message}.${wait}`.replace("..", ".");
}
