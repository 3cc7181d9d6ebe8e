import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runAuditList } from "../../src/cli/audit/audit-list.ts";
import { tradeBuy, tradeInput } from "../../src/cli/commands/trade.ts";
import { policyShow, runPolicySet } from "../../src/cli/config/policy.ts";
import { marketShow, marketSuspend } from "../../src/cli/market/market.ts";
import { marketList } from "../../src/cli/market/market-list.ts";
import type { Api, WireResult } from "../../src/contract/operations.ts";
import { anyMarket } from "../support/market.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { end, type Run, runJson, testIo } from "./support/io.ts";

describe.each(doors)("commands through the %s door", (name, open) => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await open();
    api = door.api();
  });
  afterAll(() => door.close());

  const create = async (question: string) => (await api.createMarket(anyMarket({ question }))).id;
  const latestEntry = async () => (await api.listAudit({ limit: 1 })).entries[0];

  test("the list goes over several pages, and says when there is more than was asked for", async () => {
    for (const number of [1, 2, 3]) await create(`Page ${number}?`);
    const some = await runJson((io) => marketList.run({ q: "page", limit: 2 }, api, io));
    expect(some.data).toHaveLength(2);
    expect(some.stderr).toBe("There are more than these 2: raise --limit.\n");
    const all = await runJson((io) => marketList.run({ q: "page", limit: 1000 }, api, io));
    expect(all.data).toHaveLength(3);
    expect(all.stderr).toBe("");
  });

  test("an entry names the operator, and has the reason in any script", async () => {
    const id = await create("Will it halt?");
    expect(await latestEntry()).toMatchObject({ type: "market.created", actor: door.actor });
    await runJson((io) => marketSuspend.run({ id }, door.api(undefined, "Prüfung 東京"), io));
    expect(await latestEntry()).toMatchObject({
      type: "market.suspended",
      actor: door.actor,
      payload: { marketId: id, reason: "Prüfung 東京" },
    });
    const refused = await runJson((io) =>
      tradeBuy.run(tradeInput({ market: id, side: "no", amount: 5 }), door.api("usr_x"), io),
    );
    expect(refused).toMatchObject({ exit: 7, data: { error: "Market is suspended", code: "MARKET_SUSPENDED" } });
  });

  test("refusals have the same code, text and exit code, whatever an id looks like to a router", async () => {
    const refused = (id: string) => runJson((io) => marketShow.run({ id }, api, io));
    expect(await refused("mkt_nowhere")).toMatchObject({
      exit: 5,
      stdout: "",
      data: {
        error: "Market not found",
        code: "MARKET_NOT_FOUND",
        requestId: name === "db" ? null : expect.stringMatching(/^req_/),
        fix: "pmctl market list",
      },
    });
    // These are no identifiers to a router: the fixed path beside `:id`, and the steps that URLs resolve.
    for (const odd of ["trending", "..", "a/b", "%2e%2e", "x?y#z"])
      expect(await refused(odd)).toMatchObject({ exit: 5, data: { code: "MARKET_NOT_FOUND" } });
  });

  test("on a terminal a change of the policy is shown, and a no changes nothing", async () => {
    const io = testIo({ answers: [false] });
    const ending = await end(io, () => runPolicySet({ patch: { maxTradeUsd: 900 }, reason: "busier" }, api, io));
    expect(ending).toMatchObject({ exit: 3, stdout: "" });
    expect(ending.stderr).toContain("maxTradeUsd: 500 -> 900");
    expect(io.questions).toEqual(["This LOOSENS maxTradeUsd. Change the policy?"]);
    expect((await runJson((shown) => policyShow.run({}, api, shown))).data).toMatchObject({ maxTradeUsd: 500 });
  });

  test("a change of the policy leaves other fields; one for a time is recorded with its end, one for good takes its place", async () => {
    const set = (patch: Parameters<typeof runPolicySet>[0]["patch"], policyTtlSec?: number) => {
      const accepted = { yes: true, acceptLoosening: true, reason: "as agreed" };
      const timed = door.api(undefined, undefined, { policyTtlSec });
      const run: Run = (io) => runPolicySet({ patch, ...accepted }, timed, io);
      return runJson(run);
    };
    const before = await api.getPolicy({});
    const { data } = await set({ jurisdictions: { blocked: ["NO"] } });
    const { allowed } = before.jurisdictions;
    expect(data).toMatchObject({ ...before, jurisdictions: { allowed, blocked: ["NO"] } });
    expect((await set({ maxTradeUsd: 7 }, 7200)).data).toMatchObject({ maxTradeUsd: 7 });
    const payload = { until: expect.any(String) };
    expect(await latestEntry()).toMatchObject({ type: "policy.updated", actor: door.actor, payload });
    await set({ maxTradeUsd: 500 });
    expect((await latestEntry())?.payload).toMatchObject({ overridesEnded: ["maxTradeUsd"] });
  });

  test("the audit list filters, and pages without losing or repeating an entry", async () => {
    for (let index = 0; index < 5; index++) await api.reconcile({});
    const list = async (options: Parameters<typeof runAuditList>[0]) =>
      (await runJson((io) => runAuditList(options, api, io))).data as unknown as WireResult<"listAudit">;
    const { entries, cursor } = await list({ limit: 1000, filter: {} });
    expect(cursor).toBeNull();
    const newest = entries[0]?.seq ?? 0;
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: newest }, (_, index) => newest - index));
    const runs = await list({ filter: { type: "reconcile.run" }, limit: 3 });
    expect(runs.entries.map(({ type }) => type)).toEqual(Array(3).fill("reconcile.run"));
    expect(runs.cursor).toEqual(expect.any(String));
  });
});
