import { createHash, createHmac, randomBytes } from "node:crypto";
import { isSameMac } from "../../domain/audit/hmac.ts";

const TOKEN_BYTES = 32;
const TOKEN = /^[\w-]{43}$/;
const CSRF_LABEL = "pmctl console csrf v1";

/** The cookie with a session's token, which is bound to this host: no other host and no plain page can set it. */
export class ConsoleCookie {
  readonly #name: string;

  constructor(tenantId: string) {
    this.#name = `__Host-pm_console_${tenantId}`;
  }

  /** The token of a request; undefined for none, for several, and for a text that no sign-in has made. */
  read(header: string | undefined): string | undefined {
    const start = `${this.#name}=`;
    const values = (header ?? "")
      .split(";")
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(start))
      .map((pair) => pair.slice(start.length));
    const [token] = values;
    return values.length === 1 && token !== undefined && TOKEN.test(token) ? token : undefined;
  }

  set(token: string): string {
    return `${this.#name}=${token}; Secure; HttpOnly; SameSite=Strict; Path=/`;
  }

  cleared(): string {
    return `${this.set("")}; Max-Age=0`;
  }
}

/** A value that no caller chooses, so no session can be planted in another browser. */
export const newToken = (): string => randomBytes(TOKEN_BYTES).toString("base64url");

export const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");

/** Follows from the session's token, which no script can read; the page gets it with its session. */
export const csrfTokenOf = (token: string): string =>
  createHmac("sha256", token).update(CSRF_LABEL).digest("base64url");

export function isCsrfTokenOf(token: string, given: string | undefined): boolean {
  return given !== undefined && isSameMac(given, csrfTokenOf(token));
}
