import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditStatus } from "../../src/cli/audit/audit.ts";
import { runAuditList } from "../../src/cli/audit/audit-list.ts";
import { runReconcile } from "../../src/cli/commands/reconcile.ts";
import { positionList, tradeBuy, tradeInput } from "../../src/cli/commands/trade.ts";
import { policyShow, runPolicySet } from "../../src/cli/config/policy.ts";
import { marketResume, marketSuspend, runMarketCreate, runMarketShow } from "../../src/cli/market/market.ts";
import { marketInput } from "../../src/cli/market/market-input.ts";
import { runMarketList } from "../../src/cli/market/market-list.ts";
import { runMarketSettle } from "../../src/cli/market/market-settle.ts";
import type { Api, WireResult } from "../../src/contract/operations.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { type Ending, end, type TestIoOptions, testIo } from "./support/io.ts";

type Run = (io: ReturnType<typeof testIo>) => Promise<void>;

/** Runs a command with JSON asked for, as scripts do. */
async function json(run: Run, options: TestIoOptions = {}): Promise<Ending & { data: never }> {
  const io = testIo({ format: "json", ...options });
  const ending = await end(io, () => run(io));
  return { ...ending, data: (ending.stdout === "" ? undefined : JSON.parse(ending.stdout)) as never };
}

const input = (question: string) =>
  marketInput({
    question,
    category: "sports",
    kind: "cpmm",
    p0: 0.5,
    closeAt: "2096-01-01T00:00:00Z",
    resolutionRef: "the press",
    meta: { description: "decided by hand" },
    liquidity: 500,
  });

describe.each(doors)("commands through the %s door", (name, open) => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await open();
    api = door.api();
  });
  afterAll(() => door.close());

  async function create(question: string): Promise<string> {
    const { data } = await json((io) => runMarketCreate(input(question), api, io));
    return (data as WireResult<"createMarket">).id;
  }

  async function latestEntry(): Promise<{ type: string; actor: string; payload: Record<string, unknown> }> {
    const { data } = await json((io) => runAuditList({ limit: 1, filter: {} }, api, io));
    const [entry] = (data as WireResult<"listAudit">).entries;
    if (!entry) throw new Error("the audit log is empty");
    return entry;
  }

  test("a market that was created is listed and shown, and its entry names the operator", async () => {
    const id = await create("Will it rain?");
    expect(await latestEntry()).toMatchObject({
      type: "market.created",
      actor: door.actor,
      payload: { marketId: id, question: "Will it rain?", liquidity: "500" },
    });
    const listed = await json((io) => runMarketList({ category: "sports", q: "rain" }, api, io));
    expect(listed).toMatchObject({ exit: 0, stderr: "" });
    expect(listed.data).toEqual([
      {
        id,
        question: "Will it rain?",
        category: "sports",
        kind: "cpmm",
        yesPrice: 0.5,
        volume24h: 0,
        closeAt: "2096-01-01T00:00:00.000Z",
        status: "open",
        outcome: null,
        key: null,
      },
    ]);
    const shown = await json((io) => runMarketShow({ id }, api, io));
    expect(shown.data).toMatchObject({ id, status: "open", meta: { description: "decided by hand" }, outcome: null });
  });

  test("the list goes over several pages, and says when there is more than was asked for", async () => {
    for (const number of [1, 2, 3]) await create(`Page ${number}?`);
    const some = await json((io) => runMarketList({ q: "page", limit: 2 }, api, io));
    expect(some.data).toHaveLength(2);
    expect(some.stderr).toBe("There are more than these 2: raise --limit.\n");
    const all = await json((io) => runMarketList({ q: "page", limit: 1000 }, api, io));
    expect(all.data).toHaveLength(3);
    expect(all.stderr).toBe("");
  });

  test("suspend and resume say the new state, ask nothing, and keep the reason", async () => {
    const id = await create("Will it halt?");
    const reasoned = door.api(undefined, "Prüfung 東京");
    const suspended = await json((io) => marketSuspend.run({ id }, reasoned, io));
    expect(suspended).toMatchObject({ exit: 0, stderr: "", data: { id, status: "suspended" } });
    expect(await latestEntry()).toEqual(
      expect.objectContaining({
        type: "market.suspended",
        actor: door.actor,
        payload: { marketId: id, reason: "Prüfung 東京" },
      }),
    );
    const resumed = await json((io) => marketResume.run({ id }, api, io));
    expect(resumed).toMatchObject({ exit: 0, data: { id, status: "open" } });
  });

  test("a trade for a user fills a position that the list shows", async () => {
    const id = await create("Will they trade?");
    await door.deposit("usr_trade", 100);
    const trade = { market: id, side: "yes", amount: 25, user: "usr_trade" } as const;
    const placed = await json((io) => tradeBuy.run(tradeInput(trade), door.api("usr_trade"), io));
    expect(placed).toMatchObject({ exit: 0, data: { marketId: id, side: "yes", amount: 25, fee: 0.25 } });
    expect(await latestEntry()).toMatchObject({
      type: "trade.executed",
      payload: { marketId: id, userId: "usr_trade", amount: "25" },
    });
    const positions = await json((io) => positionList.run({}, door.api("usr_trade"), io));
    expect(positions.data).toEqual([expect.objectContaining({ marketId: id, side: "yes" })]);
  });

  test("what an operator trades for a user is recorded with the operator as actor, and the reason", async () => {
    const id = await create("Who did it?");
    await door.deposit("usr_actor", 100);
    const trade = { market: id, side: "no", amount: 5, user: "usr_actor" } as const;
    await json((io) => tradeBuy.run(tradeInput(trade), door.api("usr_actor", "asked by phone"), io));
    expect(await latestEntry()).toMatchObject({
      type: "trade.executed",
      actor: door.actor,
      payload: { userId: "usr_actor", reason: "asked by phone" },
    });
  });

  test("refusals have the same code, text and exit code", async () => {
    const id = await create("Will it refuse?");
    const refused = (run: Run) =>
      json(run).then(({ exit, stdout, stderr }) => ({ exit, stdout, ...JSON.parse(stderr) }));
    expect(await refused((io) => runMarketShow({ id: "mkt_nowhere" }, api, io))).toEqual({
      exit: 5,
      stdout: "",
      error: "Market not found",
      code: "MARKET_NOT_FOUND",
      requestId: name === "db" ? null : expect.stringMatching(/^req_/),
      fix: "pmctl market list",
    });
    // These are no identifiers to a router: the fixed path beside `:id`, and the steps that URLs resolve.
    for (const odd of ["trending", "..", "a/b", "%2e%2e", "x?y#z"])
      expect(await refused((io) => runMarketShow({ id: odd }, api, io))).toMatchObject({
        exit: 5,
        code: "MARKET_NOT_FOUND",
      });
    await json((io) => marketSuspend.run({ id }, api, io));
    const trade = { market: id, side: "no", amount: 5, user: "usr_x" } as const;
    expect(await refused((io) => tradeBuy.run(tradeInput(trade), door.api("usr_x"), io))).toMatchObject({
      exit: 7,
      stdout: "",
      error: "Market is suspended",
      code: "MARKET_SUSPENDED",
    });
    const past = { ...input("Too late?"), closeAt: "2001-01-01T00:00:00Z" };
    expect(await refused((io) => runMarketCreate(past, api, io))).toMatchObject({
      exit: 6,
      error: "closeAt: must be in the future",
      code: "BAD_REQUEST",
    });
  });

  describe("settling", () => {
    test("without a terminal it takes --yes, and touches nothing without", async () => {
      const id = await create("Will nobody ask?");
      const ending = await json((io) => runMarketSettle({ id, outcome: "yes" }, api, io));
      expect(ending).toMatchObject({ exit: 6, stdout: "" });
      expect(JSON.parse(ending.stderr).error).toContain("--yes");
      expect((await json((io) => runMarketShow({ id }, api, io))).data).toMatchObject({ status: "open" });
    });

    test("on a terminal the operator sees the question and types market and outcome", async () => {
      const id = await create("Will somebody ask?");
      const io = testIo({ format: "json", answers: [`${id} no`] });
      const ending = await end(io, () => runMarketSettle({ id, outcome: "no" }, api, io));
      expect(ending.exit).toBe(0);
      expect(io.questions).toHaveLength(1);
      expect(ending.stderr).toContain("Will somebody ask?");
      expect(ending.stderr).toMatch(/market's price\s+NO at 0.500\n/);
      expect(JSON.parse(ending.stdout)).toMatchObject({ id, status: "settled", outcome: "no", payoutsProcessed: 0 });
      expect(await latestEntry()).toMatchObject({ type: "market.settled", actor: door.actor });
    });

    test("Ctrl-C at the question ends with 130 and settles nothing", async () => {
      const id = await create("Will they stop?");
      const io = testIo({ answers: [null] });
      expect((await end(io, () => runMarketSettle({ id, outcome: "no" }, api, io))).exit).toBe(130);
      expect((await json((io) => runMarketShow({ id }, api, io))).data).toMatchObject({ status: "open" });
    });

    test("a second settle is refused with 7", async () => {
      const id = await create("Twice?");
      const settle = { id, outcome: "yes", yes: true, early: true } as const;
      expect((await json((io) => runMarketSettle(settle, api, io))).exit).toBe(0);
      const again = await json((io) => runMarketSettle(settle, api, io));
      expect(again).toMatchObject({ exit: 7, stdout: "" });
      expect(JSON.parse(again.stderr)).toMatchObject({ error: "Market is already settled", code: "MARKET_SETTLED" });
    });
  });

  describe("policy", () => {
    const accepted = { acceptLoosening: true, reason: "as agreed" };

    test("set changes the stated fields and leaves the others", async () => {
      const before = (await json((io) => policyShow.run({}, api, io))).data as WireResult<"getPolicy">;
      const set = { patch: { feeBps: 120, jurisdictions: { blocked: ["NO"] } }, yes: true };
      const ending = await json((io) => runPolicySet(set, api, io));
      expect(ending.data).toMatchObject({
        ...before,
        feeBps: 120,
        jurisdictions: { allowed: before.jurisdictions.allowed, blocked: ["NO"] },
      });
      expect(await latestEntry()).toMatchObject({ type: "policy.updated", actor: door.actor });
      await json((io) =>
        runPolicySet({ patch: { feeBps: 100, jurisdictions: { blocked: [] } }, yes: true, ...accepted }, api, io),
      );
    });

    test("a change for a time is recorded with its end, and a change for good takes its place", async () => {
      const set = (maxTradeUsd: number, ttlSec?: number) =>
        json((io) =>
          runPolicySet(
            { patch: { maxTradeUsd }, yes: true, ...accepted },
            door.api(undefined, undefined, { policyTtlSec: ttlSec }),
            io,
          ),
        );
      expect((await set(7, 7200)).data).toMatchObject({ maxTradeUsd: 7 });
      const entry = await latestEntry();
      expect(entry).toMatchObject({
        type: "policy.updated",
        actor: door.actor,
        payload: { until: expect.any(String) },
      });
      await set(500);
      expect((await latestEntry())?.payload).toMatchObject({ overridesEnded: ["maxTradeUsd"] });
    });

    test("on a terminal the change is shown, and a no changes nothing", async () => {
      const io = testIo({ answers: [false] });
      const ending = await end(io, () => runPolicySet({ patch: { maxTradeUsd: 900 }, reason: "busier" }, api, io));
      expect(ending).toMatchObject({ exit: 3, stdout: "" });
      expect(ending.stderr).toContain("maxTradeUsd: 500 -> 900");
      expect(io.questions).toEqual(["This LOOSENS maxTradeUsd. Change the policy?"]);
      expect((await json((io) => policyShow.run({}, api, io))).data).toMatchObject({ maxTradeUsd: 500 });
    });
  });

  test("audit status and reconciliation of a sound tenant end with 0", async () => {
    const status = await json((io) => auditStatus.run({}, api, io));
    expect(status).toMatchObject({ exit: 0, stderr: "", data: { verified: true } });
    const reconciled = await json((io) => runReconcile({}, api, io));
    expect(reconciled).toMatchObject({ exit: 0, stderr: "", data: { ok: true, discrepancy: 0 } });
    expect(await latestEntry()).toMatchObject({ type: "reconcile.run", actor: door.actor });
  });

  test("the audit list filters, and pages without losing or repeating an entry", async () => {
    for (let index = 0; index < 5; index++) await json((io) => runReconcile({}, api, io));
    const all = await json((io) => runAuditList({ limit: 1000, filter: {} }, api, io));
    const { entries, cursor } = all.data as WireResult<"listAudit">;
    expect(cursor).toBeNull();
    const newest = entries[0]?.seq ?? 0;
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: newest }, (_, index) => newest - index));
    const runs = await json((io) => runAuditList({ filter: { type: "reconcile.run" }, limit: 3 }, api, io));
    expect((runs.data as WireResult<"listAudit">).entries.map(({ type }) => type)).toEqual(
      Array(3).fill("reconcile.run"),
    );
    expect((runs.data as WireResult<"listAudit">).cursor).toEqual(expect.any(String));
  });
});
