import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Decrypter, generateIdentity, identityToRecipient } from "age-encryption";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { tokenOf } from "../model/tenant.ts";
import { deposit, Fleet, openMarket, TENANT, trade } from "./fleet.ts";

const NEW = "the audit key that follows, of 32 bytes and more";

let fleet: Fleet;
let market: string;
beforeAll(async () => {
  fleet = await Fleet.open();
  await fleet.ofEach((url) => deposit(url, "usr_1", "opening", fleet.values.ACME_WEBHOOK_SECRET ?? ""));
  market = await openMarket(fleet);
});
afterAll(() => fleet?.close());

function loadTrades(): void {
  const { ACME_PUBLIC_KEY: key = "", ACME_JWT_SECRET: jwt = "" } = fleet.values;
  const token = tokenOf("usr_1", undefined, Date.now(), jwt);
  fleet.load("trades", (url) => trade(url, market, token, key));
}

async function page(url: string, query: string): Promise<Response> {
  return fetch(`${url}/v1/audit?limit=2${query}`, { headers: { "x-api-key": fleet.values.ACME_ADMIN_KEY ?? "" } });
}

test("the audit key is replaced while two servers seal: each knows the new key before one uses it", async () => {
  loadTrades();
  let cursor: string | null = null;
  // A list that is read page by page goes on at whichever server, whichever key its cursor was made with.
  fleet.load("pages", async (url) => {
    const answer = await page(url, cursor === null ? "" : `&cursor=${cursor}`);
    if (answer.ok) cursor = answer.headers.get("next-cursor");
    return answer;
  });
  await fleet.everyClient();

  const [current, next] = [{ env: "ACME_AUDIT_KEY" }, { env: "ACME_AUDIT_KEY_2" }];
  await fleet.change({ sections: { audit: { key: current, previous: [next] } }, values: { ACME_AUDIT_KEY_2: NEW } });
  await fleet.roll();
  await fleet.change({ sections: { audit: { key: next, previous: [current] } } });
  // Between the two restarts one server seals with the one key, and the other with the other.
  await fleet.roll();
  await fleet.quiet();

  const [url = ""] = fleet.urls;
  const { entries } = (await (await page(url, "")).json()) as { entries: { keyId: string }[] };
  expect(entries.map(({ keyId }) => keyId)).toEqual(Array(2).fill(auditKey(NEW).id));
  const verified = await fleet.operator.run("audit", "verify", "-t", TENANT, "-o", "json");
  expect(verified.exitCode, verified.stderr).toBe(0);
  expect((await fleet.operator.run("reconcile", "-t", TENANT)).exitCode).toBe(0);
});

test("the age identity of backups is replaced while trades go on: from then on the old one opens no new backup", async () => {
  const identities = [await generateIdentity(), await generateIdentity()] as const;
  const recipients = await Promise.all(identities.map(identityToRecipient));
  loadTrades();
  const opens = async (name: string, to: readonly string[]) => {
    const file = join(fleet.operator.directory, name);
    const made = await fleet.operator.run(
      ...["db", "backup", file, "-t", TENANT],
      ...to.flatMap((each) => ["--encrypt-to", each]),
    );
    expect(made.exitCode, made.stderr).toBe(0);
    const bytes = await readFile(file);
    return Promise.all(
      identities.map(async (identity) => {
        const decrypter = new Decrypter();
        decrypter.addIdentity(identity);
        return decrypter.decrypt(bytes).then(
          () => true,
          () => false,
        );
      }),
    );
  };
  const [first = "", second = ""] = recipients;
  expect(await opens("one.age", [first])).toEqual([true, false]);
  expect(await opens("both.age", [first, second])).toEqual([true, true]);
  expect(await opens("two.age", [second])).toEqual([false, true]);
  await fleet.everyClient();
  await fleet.quiet();
});
