import { beforeAll, describe, expect, test } from "vitest";
import { isPublicRead, type Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import { tradeOf, usd } from "../engine/world.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { PUBLIC_KEY, userToken } from "./support/harness.ts";

const tenant = tenantOfTests();
beforeAll(async () => {
  await tenant.deposit("usr_1", 1000);
  await tenant.openMarket("mkt_1");
});

const KEY = { "x-api-key": PUBLIC_KEY };
const ask = (path: string, headers: Record<string, string> = KEY, method = "GET") =>
  fetch(tenant.url + path, { method, headers });
/** The tag of the answer, or 304 for the copy with this tag. */
const tagAt = async (path: string) => (await ask(path)).headers.get("etag") ?? "";
const askAgain = (path: string, tag: string, method = "GET") => ask(path, { ...KEY, "if-none-match": tag }, method);

const PATHS = Object.values(operations as Record<string, Operation>)
  // A market has a proposal only once a tenant's rules make its end wait.
  .filter((operation) => isPublicRead(operation) && !operation.path.endsWith("/proposal"))
  .map(({ path }) => (path.endsWith("/recent") ? `${path}?ids=mkt_1` : path.replace(":id", "mkt_1")));

describe.each(PATHS)("%s", (path) => {
  test("tells its version; who has it is told that it is current, and sent no body", async () => {
    const whole = await ask(path);
    const tag = whole.headers.get("etag") ?? "";
    expect([whole.status, whole.headers.get("cache-control")]).toEqual([200, "no-cache"]);
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
    for (const method of ["GET", "HEAD"]) {
      const known = await askAgain(path, `"other", ${tag}`, method);
      expect([known.status, await known.text(), known.headers.get("etag")]).toEqual([304, "", tag]);
      // A client replaces the headers of its copy by these.
      for (const name of ["cache-control", "x-content-type-options", "content-security-policy", "link", "next-cursor"])
        expect([name, known.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
      expect(known.headers.get("request-id")).toMatch(/^req_/);
    }
    expect((await askAgain(path, '"other"')).status).toBe(200);
  });

  test("tells a caller without a key nothing, whatever copy it names", async () => {
    const refused = await ask(path, { "if-none-match": await tagAt(path) });
    expect([refused.status, refused.headers.get("etag"), refused.headers.get("cache-control")]).toEqual([
      401,
      null,
      "no-store",
    ]);
  });
});

test("a trade ends the version of each answer that shows it, and of no other", async () => {
  await tenant.openMarket("mkt_2");
  const [own, other] = ["/v1/markets/mkt_1", "/v1/markets/mkt_2"];
  const [before, untouched] = [await tagAt(own), await tagAt(other)];
  const command = tradeOf({ id: "trd_1", marketId: "mkt_1", traderId: "usr_1", amountMicro: usd(5) });
  await tenant.services.sequencer.submit({ command, actor: "user:usr_1" });
  expect((await askAgain(own, before)).status).toBe(200);
  expect((await askAgain(other, untouched)).status).toBe(304);
});

test("what belongs to a user is not kept by anyone", async () => {
  const answer = await ask("/v1/positions", { ...KEY, authorization: `Bearer ${await userToken({ sub: "usr_1" })}` });
  expect([answer.status, answer.headers.get("etag"), answer.headers.get("cache-control")]).toEqual([
    200,
    null,
    "no-store",
  ]);
});

test("a request that names a copy is counted as any other", async () => {
  const remaining = async () => Number((await askAgain("/v1/markets", "*")).headers.get("ratelimit-remaining"));
  const before = await remaining();
  expect(await remaining()).toBe(before - 1);
});
