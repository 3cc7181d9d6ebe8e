import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { readLife } from "../../src/console/views/market/life.ts";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:second" });

beforeAll(async () => {
  for (const id of ["usr_1", "usr_2"]) await tenant.deposit(id, 500);
  for (const id of ["mkt_a", "mkt_b"]) await openHeld(tenant, id, `Will ${id} open?`, "usr_1");
});

test("a market's life is read from its creation on, and later only what is new; nothing is there twice", async () => {
  const first = await readLife(operator(), "mkt_a");
  expect(first).toMatchObject({ isWhole: true, entries: [{ type: "trade.executed" }, { type: "market.created" }] });
  expect(await readLife(operator(), "mkt_a", first)).toBe(first);
  await operator().suspendMarket({ id: "mkt_b" });
  await operator().suspendMarket({ id: "mkt_a" });
  await operator().resumeMarket({ id: "mkt_a" });
  const later = await readLife(operator(), "mkt_a", first);
  expect(later.entries.map(({ type }) => type)).toEqual([
    "market.resumed",
    "market.suspended",
    "trade.executed",
    "market.created",
  ]);
  expect(await readLife(operator(), "mkt_a")).toEqual(later);
});
