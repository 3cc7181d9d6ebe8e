import { request } from "node:http";
import { request as requestTls } from "node:https";
import { auditKey, sealRow } from "../../../src/domain/audit/seal.ts";
import { ADMIN_KEY, AUDIT_SECRET, type Backend, sha256, TENANT } from "./harness.ts";

/** An answer of the console. */
export interface ConsoleAnswer {
  status: number;
  headers: Headers;
  text: string;
  // Tests compare it field by field.
  body: Record<string, unknown>;
}

/** A browser's requests to a console, with the headers that a browser adds and this client would not let us set. */
export class ConsoleClient {
  readonly origin: string;
  readonly base: string;
  readonly #ca: string | undefined;
  cookie: string | undefined;
  csrf: string | undefined;

  /** @param url the listener's address; `base` is what every address of a shared listener begins with; `ca` is the certificate to trust */
  constructor(url: string, base = "", ca?: string) {
    this.origin = new URL(url).origin;
    this.base = base;
    this.#ca = ca;
  }

  /** @param headers null leaves out a header that the page would send */
  send(
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string | null> } = {},
  ): Promise<ConsoleAnswer> {
    const usual: Record<string, string | null> = {
      "sec-fetch-site": "same-origin",
      ...(method !== "GET" && { origin: this.origin, "x-csrf-token": this.csrf ?? null }),
      ...(method === "POST" && { "idempotency-key": `${Math.random()}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      cookie: this.cookie ?? null,
    };
    const sent = Object.entries({ ...usual, ...headers }).flatMap(([name, value]) =>
      value === null ? [] : [[name, value] as const],
    );
    return exchange(`${this.origin}${this.base}${path}`, method, Object.fromEntries(sent), body, this.#ca);
  }

  get(path: string, headers: Record<string, string | null> = {}) {
    return this.send("GET", path, { headers });
  }

  post(path: string, body: unknown, headers: Record<string, string | null> = {}) {
    return this.send("POST", path, { body, headers });
  }

  /** Signs in and keeps the cookie and the token. */
  async signIn(key = ADMIN_KEY): Promise<ConsoleAnswer> {
    const answer = await this.post("/console/session", { key });
    const cookie = answer.headers.get("set-cookie")?.split(";")[0];
    if (answer.status === 200 && cookie !== undefined) {
      this.cookie = cookie;
      this.csrf = answer.body.csrfToken as string;
    }
    return answer;
  }
}

export const COOKIE = `__Host-pm_console_${TENANT}`;

export const CONSOLE = { origins: [], session: { idleMs: 1_800_000, absoluteMs: 28_800_000 } };

/** Lets time pass for a session: it was opened and last used so much earlier, and ends so much earlier. */
export async function ageSession({ sql }: Backend, { cookie = "" }: ConsoleClient, ms: number): Promise<void> {
  const of = sha256(cookie.slice(COOKIE.length + 1));
  const [row] = await sql`
    update console_session set created_at = created_at - ${ms}::bigint, ends_at = ends_at - ${ms}::bigint,
           last_seen_at = greatest(0, last_seen_at - ${ms}::bigint)
     where sha256 = ${of} returning key_hash, key_name, created_at, ends_at`;
  const fields = [of, row?.key_hash, row?.key_name, Number(row?.created_at), Number(row?.ends_at), null];
  const seal = sealRow(auditKey(AUDIT_SECRET), "consoleSession", fields);
  await sql`update console_session set seal = ${seal} where sha256 = ${of}`;
}

function exchange(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: unknown,
  ca: string | undefined,
): Promise<ConsoleAnswer> {
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  // Node states no length for a body of a DELETE.
  const stated = text === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(text)) };
  return new Promise((resolve, reject) => {
    const sent = (ca === undefined ? request : requestTls)(url, { method, headers: stated, ca }, (response) => {
      let received = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        received += chunk;
      });
      response.on("end", () => {
        const isJson = response.headers["content-type"]?.startsWith("application/json") && received !== "";
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(response.headers as Record<string, string>),
          text: received,
          body: isJson ? JSON.parse(received) : {},
        });
      });
    });
    sent.on("error", reject).end(text);
  });
}
