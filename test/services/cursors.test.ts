import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { AUDIT_SECRET, openTestTenant, type TestTenant } from "../support/tenant.ts";

let scene: TestTenant;
beforeAll(async () => {
  scene = await openTestTenant({ processes: 2 });
  for (const user of ["ann", "bob"]) await scene.deposit(user, 1000);
  const marketId = await scene.market();
  await scene.market();
  await scene.market();
  for (const user of ["ann", "bob", "ann", "bob", "ann", "bob"])
    await scene.api(user).placeTrade({ marketId, selection: { side: "yes" }, amount: 1 });
  for (const user of ["ann", "bob", "ann"]) await scene.api(user).requestWithdrawal({ amount: 1 });
});
afterAll(() => scene.close());

const REFUSED = { code: "BAD_REQUEST", message: "cursor: not a cursor of this list" };
type Read = (api: Api, cursor?: string, filtered?: boolean) => Promise<string | null>;

/** Every list of this tenant that goes on: the cursor behind its first item. */
const lists: Record<string, Read> = {
  listMarkets: async (api, cursor, filtered) =>
    (await api.listMarkets({ limit: 1, cursor, ...(filtered ? { kind: "cpmm" } : {}) })).nextCursor,
  listAudit: async (api, cursor, filtered) =>
    (await api.listAudit({ limit: 1, cursor, ...(filtered ? { type: "trade.executed" } : {}) })).cursor ?? null,
  listOrders: async (api, cursor, filtered) =>
    (await api.listOrders({ limit: 1, cursor, ...(filtered ? { marketId: "mkt_other" } : {}) })).nextCursor,
  listStatement: async (api, cursor) => (await api.listStatement({ limit: 1, cursor })).nextCursor,
  listWithdrawals: async (api, cursor, filtered) =>
    (await api.listWithdrawals({ limit: 1, cursor, ...(filtered ? { status: "pending" } : {}) })).nextCursor,
};
const names = Object.keys(lists);
const read = (name: string, api: Api, cursor?: string, filtered?: boolean) =>
  (lists[name] as Read)(api, cursor, filtered);
const cursorOf = async (name: string, user = "ann") => (await read(name, scene.api(user))) as string;

describe.each(names)("a cursor of %s", (name) => {
  test("is good at every server of the tenant, and after a restart", async () => {
    const cursor = await cursorOf(name);
    const [, other] = scene.processes;
    const again = await openTenant({
      tenantId: "acme",
      connection: scene.database.server,
      auditSecret: AUDIT_SECRET,
      connections: 8,
    });
    for (const services of [other, again]) {
      const api = localApi(services?.handlers ?? {}, { actor: "admin:other", user: { id: "ann" } });
      expect(await read(name, api, cursor)).toEqual(await read(name, scene.api("ann"), cursor));
    }
    await again.close();
  });

  test("is refused when any character of it was changed, left out or added", async () => {
    const cursor = await cursorOf(name);
    const changed = [...cursor].flatMap((character, at) => {
      const before = cursor.slice(0, at);
      const after = cursor.slice(at + 1);
      return [`${before}${character === "A" ? "B" : "A"}${after}`, before + after, `${before}=${character}${after}`];
    });
    for (const forged of [...changed, `${cursor}=`, ` ${cursor}`])
      if (forged !== "") await expect(read(name, scene.api("ann"), forged), forged).rejects.toMatchObject(REFUSED);
  });

  test("is refused by every other list", async () => {
    const cursor = await cursorOf(name);
    for (const other of names.filter((each) => each !== name))
      await expect(read(other, scene.api("ann"), cursor), other).rejects.toMatchObject(REFUSED);
  });

  test("is refused without a signature, or with one by another key", async () => {
    const cursor = await cursorOf(name);
    const place = cursor.slice(0, -22);
    const guess = createHmac("sha256", AUDIT_SECRET).update(place).digest("base64url").slice(0, 22);
    for (const forged of [place, place + guess, place + "A".repeat(22)])
      await expect(read(name, scene.api("ann"), forged)).rejects.toMatchObject(REFUSED);
  });
});

test.each(names.filter((name) => name !== "listStatement"))(
  "a cursor of %s is refused for another filter",
  async (name) => {
    const cursor = await cursorOf(name);
    await expect(read(name, scene.api("ann"), cursor, true)).rejects.toMatchObject(REFUSED);
  },
);

test.each(["listOrders", "listStatement"])("a user's cursor of %s is refused for another user", async (name) => {
  const cursor = await cursorOf(name, "bob");
  await expect(read(name, scene.api("ann"), cursor)).rejects.toMatchObject(REFUSED);
});

test("a limit and a format may change from page to page", async () => {
  const cursor = await cursorOf("listStatement");
  const { items } = await scene.api("ann").listStatement({ limit: 3, cursor, format: "csv" });
  expect(items).toHaveLength(3);
});

test("a page of the statement goes on with the balance that was stored, whatever a forged cursor claims", async () => {
  const { items } = await scene.api("ann").listStatement({ limit: 1 });
  const seq = items[0]?.seq;
  for (const forged of [JSON.stringify([seq, "987654321000000"]), JSON.stringify([seq, "-1"])]) {
    const cursor = Buffer.from(forged).toString("base64url");
    await expect(scene.api("ann").listStatement({ cursor })).rejects.toMatchObject(REFUSED);
  }
});

test("after the audit key was rotated, cursors of the previous one hold, and those of unknown keys do not", async () => {
  const cursor = await cursorOf("listAudit");
  const open = (previousAuditSecrets: string[]) =>
    openTenant({
      tenantId: "acme",
      connection: scene.database.server,
      auditSecret: "the audit secret that came after it, long enough",
      previousAuditSecrets,
      connections: 8,
    });
  const rotated = await open([AUDIT_SECRET]);
  const replaced = await open([]);
  const api = ({ handlers }: typeof rotated) => localApi(handlers, { actor: "admin:ops" });
  const old = await read("listAudit", scene.api("ann"), cursor);
  const next = await read("listAudit", api(rotated), cursor);
  expect(next).not.toBeNull();
  expect(next?.slice(0, -22)).toBe(old?.slice(0, -22));
  await expect(read("listAudit", api(replaced), cursor)).rejects.toMatchObject(REFUSED);
  await rotated.close();
  await replaced.close();
});
