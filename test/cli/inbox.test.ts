import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { InboxItem } from "../../src/client/inbox/item.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { marketThatCloses, newOperator, type Operator } from "../support/operator.ts";
import { withServer } from "../support/tenant-text.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  const expires = new Date(Date.now() + 5 * 86_400_000).toISOString();
  await operator.edit("acme", (text) =>
    withServer(text.replace("_PUBLIC_KEY }", `_PUBLIC_KEY }, expires: ${expires}`)),
  );
});
afterAll(() => operator.close());

async function inbox(...args: string[]): Promise<{ exitCode: number | undefined; items: InboxItem[]; stderr: string }> {
  const { exitCode, stdout, stderr } = await operator.run("inbox", ...args, "-o", "json");
  return { exitCode, stderr, items: stdout === "" ? [] : JSON.parse(stdout) };
}
const kinds = (items: readonly InboxItem[]) => items.map(({ kind }) => kind);

test("where no database was ever created only the missing backup is noted, and none is", async () => {
  const fresh = await newOperator({ cluster: "none" });
  await fresh.run("init", "acme");
  const { exitCode, stdout } = await fresh.run("inbox", "-o", "json");
  expect({ exitCode, kinds: kinds(JSON.parse(stdout)) }).toEqual({ exitCode: 0, kinds: ["backup"] });
  expect(existsSync((await embeddedCluster(fresh.directory).status()).dataDir)).toBe(false);
  await fresh.close();
});

describe("of an applied tenant", () => {
  let market: { id: string; closeAt: number };
  beforeAll(async () => {
    expect((await operator.run("apply", "acme", "--yes")).exitCode).toBe(0);
    const create = "market create --question Rain? --category x --kind lmsr --p0 0.5 --resolution-ref judge -o json";
    market = await marketThatCloses(operator, (closeAt) => [...create.split(" "), "--close-at", closeAt]);
    await operator.run("policy", "set", "feeBps=300", "--yes", "--reason", "a try");
    await operator.run("policy", "set", "maxTradeUsd=50", "--ttl", "2h", "--yes");
    await delay(Math.max(0, market.closeAt + 20 - Date.now()));
  });

  test("what waits is one list in order, with commands that can be pasted, and ends with 3", async () => {
    const { exitCode, items } = await inbox();
    expect(exitCode).toBe(3);
    expect(kinds(items)).toEqual(["market.closed", "override", "key", "drift", "backup"]);
    const [closed, override, key, drift] = items;
    expect(Object.keys(closed ?? {})).toEqual([
      "tenant",
      "kind",
      "severity",
      "id",
      "title",
      "amountUsd",
      "since",
      "dueAt",
      "commands",
    ]);
    expect(closed).toMatchObject({ tenant: "acme", id: market.id, since: new Date(market.closeAt).toISOString() });
    expect(override).toMatchObject({ id: "maxTradeUsd", severity: "info" });
    expect(key).toMatchObject({ id: "web", severity: "warn" });
    expect(drift).toMatchObject({
      id: "policy.feeBps",
      title: expect.stringContaining("is 300 live and 100 in the file"),
    });
  });

  test("--kind and --within show and judge only what they name", async () => {
    const drift = await inbox("--kind", "drift");
    expect({ exitCode: drift.exitCode, kinds: kinds(drift.items) }).toEqual({ exitCode: 3, kinds: ["drift"] });
    expect(kinds((await inbox("--within", "1h", "--kind", "override", "--kind", "key")).items)).toEqual([]);
    expect((await inbox("--kind", "override")).exitCode).toBe(0);
    const { exitCode, stderr } = await inbox("--kind", "nothing");
    expect({ exitCode, stderr }).toEqual({ exitCode: 6, stderr: expect.stringContaining("market.held") });
  });

  test("a command of an item, with the reason that a person gives, takes the item out", async () => {
    const { items } = await inbox("--kind", "market.closed");
    const [, ...words] = items[0]?.commands[0]?.split(" ") ?? [];
    expect((await operator.run(...words, "--reason", "the source says so", "--yes")).exitCode).toBe(0);
    expect((await inbox("--kind", "market.closed")).items).toEqual([]);
  });

  test("another log's audit key pages no one, invents nothing and signs nothing: 6, with both fingerprints", async () => {
    const other = { ACME_AUDIT_KEY: "the audit key of another log, long enough" };
    const keys = [auditKey((await operator.secrets()).ACME_AUDIT_KEY ?? ""), auditKey(other.ACME_AUDIT_KEY)];
    const [ours, wrong] = keys.map(({ id }) => id);
    const both = new RegExp(`key ${ours}, .* given keys?: ${wrong}`);
    for (const kind of ["chain", "drift"]) {
      const { exitCode, stdout } = await operator.runWith(other, "inbox", "--kind", kind, "-o", "json");
      const items: InboxItem[] = JSON.parse(stdout);
      expect({ exitCode, kinds: kinds(items) }).toEqual({ exitCode: 9, kinds: ["unreachable"] });
      expect(items[0]?.title).toMatch(both);
    }
    const files = ["story.html", "acme.backup.gz"].map((name) => join(operator.directory, name));
    const [page = "", backup = ""] = files;
    for (const line of [
      ["plan", "acme"],
      ["drift", "acme"],
      ["apply", "acme", "--yes"],
      ["key", "list"],
      ["audit", "verify"],
      ["audit", "list"],
      ["audit", "accept-rollback", "--yes", "--reason", "x"],
      ["audit", "accept-finding", "1", "--yes", "--reason", "x"],
      ["user", "list"],
      ["story", market.id, "--out", page],
      ["db", "backup", "--out", backup],
    ])
      expect({ line, ...(await operator.runWith(other, ...line)) }).toMatchObject({
        exitCode: 6,
        stdout: "",
        stderr: expect.stringMatching(both),
      });
    expect(files.filter((file) => existsSync(file))).toEqual([]);
    // What the auditor is given of a log whose key is lost.
    expect((await operator.runWith(other, "audit", "export", "--out", join(operator.directory, "log"))).exitCode).toBe(
      0,
    );
  });

  test("a tenant that cannot be looked at is an item and a code of its own, and nothing is started for it", async () => {
    await operator.run("init", "zeta");
    await operator.edit("zeta", () => "version: [");
    const some = await inbox();
    expect(some.exitCode).toBe(10);
    expect(some.items[0]).toMatchObject({ tenant: "zeta", kind: "unreachable", severity: "critical" });
    await operator.run("db", "stop", "--yes");
    const all = await inbox("acme");
    expect(all.exitCode).toBe(9);
    expect(all.items[0]).toMatchObject({ kind: "unreachable", commands: ["pmctl db start"] });
    expect((await embeddedCluster(operator.directory).status()).running).toBe(false);
  });
});
