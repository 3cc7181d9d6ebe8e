import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { WireResult } from "../../../src/contract/operations.ts";
import { CONSOLE, COOKIE, ConsoleClient } from "../support/console.ts";
import { tenantOfTests } from "../support/during-tests.ts";
import { ADMIN_KEY, EXPIRED_KEY, PUBLIC_KEY, serveServices } from "../support/harness.ts";

const tenant = tenantOfTests({ console: CONSOLE, trustProxy: ["127.0.0.1/32"] });
let lastAddress = 0;

/** A client with an address of its own. */
class Stranger extends ConsoleClient {
  readonly address: string;

  constructor(url = tenant.server.opsUrl, address?: string) {
    super(url);
    lastAddress += 1;
    this.address = address ?? `203.0.113.${lastAddress}`;
  }

  override send(...[method, path, { headers, ...rest } = {}]: Parameters<ConsoleClient["send"]>) {
    return super.send(method, path, { ...rest, headers: { "x-forwarded-for": this.address, ...headers } });
  }

  async tries(key: unknown): Promise<[number, string | null]> {
    const { status, headers } = await this.post("/console/session", { key });
    return [status, headers.get("error-code")];
  }
}

const WRONG: [number, string] = [401, "KEY_INVALID"];
const LIMITED: [number, string] = [429, "RATE_LIMITED"];
const securityOf = async (address: string) => {
  const path = `${tenant.url}/v1/audit/security?limit=200`;
  const response = await fetch(path, { headers: { "x-api-key": ADMIN_KEY, "x-forwarded-for": "192.0.2.250" } });
  const { entries } = (await response.json()) as WireResult<"listSecurityEvents">;
  return entries.filter((entry) => entry.address === address);
};

describe("the cookie", () => {
  test("has exactly its attributes, and at least 128 bits that no caller chooses; only its hash is stored", async () => {
    const client = new Stranger();
    const planted = "B".repeat(43);
    client.cookie = `${COOKIE}=${planted}`;
    const opened = await client.signIn();
    const [set = "", ...more] = opened.headers.get("set-cookie")?.split(", ") ?? [];
    expect(more).toEqual([]);
    const [pair = "", ...attributes] = set.split("; ");
    expect(attributes).toEqual(["Secure", "HttpOnly", "SameSite=Strict", "Path=/"]);
    const [name, value = ""] = pair.split("=");
    expect(name).toBe("__Host-pm_console_acme");
    expect(Buffer.from(value, "base64url")).toHaveLength(32);
    expect(value).not.toBe(planted);
    expect((await client.get("/console/session", { cookie: `${COOKIE}=${planted}` })).status).toBe(401);
    const stored = JSON.stringify(await tenant.backend.sql`select * from console_session`);
    expect(stored).toContain(createHash("sha256").update(value).digest("hex"));
    for (const secret of [value, client.csrf ?? "", ADMIN_KEY]) expect(stored).not.toContain(secret);
    expect(opened.text).not.toContain(ADMIN_KEY);
    expect(opened.text).not.toContain(value);
  });

  test("no other shape of it signs anybody in", async () => {
    const client = new Stranger();
    await client.signIn();
    const value = client.cookie?.split("=")[1] ?? "";
    const hash = createHash("sha256").update(value).digest("hex");
    for (const cookie of [
      `pm_console_acme=${value}`,
      `__Host-pm_console_zeta=${value}`,
      `${COOKIE}=${hash}`,
      `${COOKIE}=${value}x`,
      `${COOKIE}=`,
      `${COOKIE}=${value}; ${COOKIE}=${"A".repeat(43)}`,
      `${COOKIE}="${value}"`,
    ])
      expect([cookie, (await client.get("/console/session", { cookie })).status]).toEqual([cookie, 401]);
    expect((await client.get("/console/session", { cookie: `theme=dark; ${client.cookie}; x=y` })).status).toBe(200);
  });

  test("signing in again ends the session that it named, and no other", async () => {
    const client = new Stranger();
    const other = new Stranger();
    await Promise.all([client.signIn(), other.signIn()]);
    const before = client.cookie;
    expect((await client.signIn()).status).toBe(200);
    expect(client.cookie).not.toBe(before);
    expect((await client.get("/console/session")).status).toBe(200);
    expect((await other.get("/console/session")).status).toBe(200);
    expect((await client.get("/console/session", { cookie: before ?? null })).status).toBe(401);
    expect(await tenant.audit("console.ended")).toEqual([
      { type: "console.ended", actor: "admin:ops", payload: { cause: "replaced" } },
    ]);
  });

  test("signing out clears it with the same attributes, and the session is gone on the server", async () => {
    const client = new Stranger();
    await client.signIn();
    const ended = await client.send("DELETE", "/console/session");
    expect([ended.status, ended.body]).toEqual([200, { ended: true }]);
    expect(ended.headers.get("set-cookie")).toBe(`${COOKIE}=; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`);
    expect((await client.get("/console/session")).status).toBe(401);
    expect((await client.send("DELETE", "/console/session")).status).toBe(401);
    expect((await tenant.audit("console.ended")).at(-1)?.payload).toEqual({ cause: "signed out" });
  });
});

describe("refused sign-ins", () => {
  test("after five of an address within a minute every further one must wait, with the right key too, at every server", async () => {
    const client = new Stranger();
    for (const key of ["sk_1", "sk_2", PUBLIC_KEY, EXPIRED_KEY, "x".repeat(300)]) await client.tries(key);
    for (const key of ["sk_6", ADMIN_KEY]) expect(await client.tries(key)).toEqual(LIMITED);
    const limited = await client.post("/console/session", { key: ADMIN_KEY });
    const wait = Number(limited.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(limited.headers.has("set-cookie")).toBe(false);
    expect((await new Stranger().signIn()).status).toBe(200);
    const options = { pool: tenant.backend.pool, console: CONSOLE, trustProxy: ["127.0.0.1/32"] };
    const second = await serveServices(tenant.services, options);
    const elsewhere = new Stranger(second.opsUrl, client.address);
    expect(await elsewhere.tries(ADMIN_KEY)).toEqual(LIMITED);
    await second.close();
  });

  test("of many at once no more than five are looked at", async () => {
    const client = new Stranger();
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => client.tries(`sk_${index}`)));
    expect(answers.filter(([status]) => status === 401).length).toBeLessThanOrEqual(5);
    expect(answers.filter(([status]) => status === 429).length).toBeGreaterThanOrEqual(25);
  });

  test("an unknown, an expired and a public key differ by their code, and the security log has them with the route", async () => {
    const client = new Stranger();
    expect(await client.tries("sk_unknown")).toEqual(WRONG);
    expect(await client.tries(EXPIRED_KEY)).toEqual(WRONG);
    expect(await client.tries(PUBLIC_KEY)).toEqual([403, "FORBIDDEN"]);
    const entries = await securityOf(client.address);
    const sum = (name: string) =>
      entries.filter(({ event }) => event === name).reduce((total, { count }) => total + count, 0);
    expect([sum("auth.failed"), sum("role.denied")]).toEqual([2, 1]);
    expect(new Set(entries.map(({ route }) => route))).toEqual(new Set(["/console/session"]));
    expect(JSON.stringify(entries)).not.toContain("sk_unknown");
  });

  test("a body that is no key is refused without being counted", async () => {
    const client = new Stranger();
    for (const body of ["", "{", "[]", "null", '"x"', "{}", { key: 1 }, { key: null }, { key: ADMIN_KEY, more: 1 }])
      expect((await client.post("/console/session", body)).headers.get("error-code")).toBe("BAD_REQUEST");
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await client.post("/console/session", `key=${ADMIN_KEY}`, form)).status).toBe(400);
    expect(await client.tries("")).toEqual(WRONG);
    expect((await client.signIn()).status).toBe(200);
  });

  test("opening a session is on record with the client's address", async () => {
    const client = new Stranger();
    await client.signIn();
    expect((await tenant.audit("console.opened")).at(-1)).toEqual({
      type: "console.opened",
      actor: "admin:ops",
      payload: { address: client.address },
    });
    expect(await tenant.isSound()).toBe(true);
  });
});
