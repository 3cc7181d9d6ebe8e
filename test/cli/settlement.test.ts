import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runMarketSettle, type SettleOptions } from "../../src/cli/market/market-settle.ts";
import type { Api } from "../../src/contract/operations.ts";
import { connect } from "../../src/postgres/connect.ts";
import { anyMarket } from "../support/market.ts";
import { openHttpDoor, type TestDoor } from "./support/doors.ts";
import { end, type TestIoOptions, testIo } from "./support/io.ts";

describe("settling", () => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await openHttpDoor();
    api = door.api();
    for (const user of ["ann", "bob"]) await door.deposit(user, 500);
  });
  afterAll(() => door.close());

  /** A market in which ann holds more YES than bob. Resolves to its id and what YES pays. */
  async function traded(): Promise<{ id: string; ann: number; bob: number; total: number }> {
    const { id } = await api.createMarket(anyMarket({ question: "Will it pay?", liquidityUsd: 500 }));
    const buy = async (user: string, amount: number) =>
      (await door.api(user).placeTrade({ marketId: id, selection: { side: "yes" }, amount })).shares;
    const [ann, bob] = [await buy("ann", 20), await buy("bob", 5)];
    return { id, ann, bob, total: Math.round((ann + bob) * 1e6) / 1e6 };
  }

  async function settle(options: SettleOptions, io: TestIoOptions = {}) {
    const terminal = testIo({ format: "json", ...io });
    return { ...(await end(terminal, () => runMarketSettle(options, api, terminal))), terminal };
  }

  const balances = () => Promise.all(["ann", "bob"].map(async (id) => (await api.getUser({ id })).balanceUsd));

  test("the preview says what is then paid, to whom most, and what it costs the house", async () => {
    const { id, ann, total } = await traded();
    const preview = await settle({ id, outcome: "yes", preview: true });
    expect(preview).toMatchObject({ exit: 0, stderr: "" });
    const seen = JSON.parse(preview.stdout);
    expect(seen).toMatchObject({ payouts: 2, totalUsd: total, largest: { userId: "ann", amountUsd: ann } });
    const before = await balances();
    await settle({ id, outcome: "yes", yes: true, early: true, expectPayouts: 2, expectTotal: total });
    const after = await balances();
    expect(after.reduce((sum, balance, index) => sum + balance - (before[index] ?? 0), 0)).toBeCloseTo(total, 6);
    const [entry] = (await api.listAudit({ limit: 1 })).entries;
    expect(entry).toMatchObject({
      type: "market.settled",
      actor: door.actor,
      payload: {
        payouts: 2,
        paid: String(total),
        returned: String(seen.toTreasuryUsd),
        houseResult: String(seen.houseResultUsd),
      },
    });
    expect(seen.escrowUsd).toBeCloseTo(seen.totalUsd + seen.toTreasuryUsd, 6);
    expect(await settle({ id, outcome: "yes", preview: true })).toMatchObject({ exit: 7, stdout: "" });
  });

  test("the preview on a terminal shows the escrow, that there is no fee, and what the treasury and the house get", async () => {
    const { id } = await traded();
    const { stdout } = await settle({ id, outcome: "no", preview: true }, { format: "table" });
    const lines = stdout.split("\n").map((line) => line.split(/ {2,}/));
    expect(lines).toEqual(
      expect.arrayContaining([
        ["escrow", "524.75 USD"],
        ["paid to them", "0.00 USD"],
        ["settlement fee", "none: the trades have paid theirs"],
        ["to the treasury", "524.75 USD, the rest of the escrow"],
        ["house", "keeps 24.75 USD, not counting the fees of trades"],
      ]),
    );
  });

  test("a person who settles reads what was added to the market's rules", async () => {
    const { id } = await traded();
    for (const text of ["Drizzle counts.", "Hail\ndoes not."]) await api.clarifyMarket({ id, text });
    const { stdout } = await settle({ id, outcome: "no", preview: true }, { format: "table" });
    const lines = stdout.split("\n").map((line) => line.trim());
    const texts = lines.flatMap((line) => /^clarified +20\S+ \S+Z: (.*)$/.exec(line)?.[1] ?? []);
    expect(texts).toEqual(["Drizzle counts.", expect.stringMatching(/^Hail/)]);
    expect(lines.findIndex((line) => line.startsWith("decided by"))).toBeLessThan(
      lines.findIndex((line) => line.startsWith("clarified")),
    );
  });

  test("nobody wins: the preview has no largest payout, and the house keeps the stakes", async () => {
    const { id } = await traded();
    const { stdout } = await settle({ id, outcome: "no", preview: true });
    expect(JSON.parse(stdout)).toMatchObject({ payouts: 0, totalUsd: 0, largest: null, houseResultUsd: 24.75 });
  });

  test.each<[string, Partial<SettleOptions>]>([
    ["the number of payouts", { expectPayouts: 3 }],
    ["the total", { expectTotal: 1 }],
  ])("with --yes a mismatch in %s pays nothing and ends with 7", async (_what, expectation) => {
    const { id } = await traded();
    const before = await balances();
    const refused = await settle({ id, outcome: "yes", yes: true, early: true, ...expectation });
    expect(refused).toMatchObject({ exit: 7, stdout: "" });
    expect(JSON.parse(refused.stderr)).toMatchObject({ code: "EXPECTATION_NOT_MET" });
    expect(await balances()).toEqual(before);
    expect((await api.getMarket({ id })).status).toBe("open");
  });

  describe("with --yes, what is most likely a mistake is refused with 7 and pays nothing", () => {
    /** The market after its closing time. */
    const closed = async ({ id }: { id: string }) => {
      const owner = connect(door.database.connection, { name: "owner", max: 1 });
      await owner`update market set close_at = 1 where id = ${id}`;
      await owner.end({ timeout: 5 });
      return { id };
    };

    test.each([
      ["before it closes", "yes", "--early settles it all the same", async () => traded()],
      ["against the price", "no", "--early settles it against the price", async () => closed(await traded())],
    ] as const)("%s", async (_when, outcome, hint, market) => {
      const { id } = await market();
      const before = await balances();
      const refused = await settle({ id, outcome, yes: true });
      expect(refused).toMatchObject({ exit: 7, stdout: "", stderr: expect.stringContaining(hint) });
      expect(JSON.parse(refused.stderr)).toMatchObject({ code: "SETTLEMENT_UNEXPECTED" });
      expect(await balances()).toEqual(before);
      expect((await settle({ id, outcome, yes: true, early: true })).exit).toBe(0);
    });

    test("what is due and expected needs no more than --yes", async () => {
      const { id } = await closed(await traded());
      expect((await settle({ id, outcome: "yes", yes: true })).exit).toBe(0);
    });
  });

  test("Ctrl-C at the question ends with 130 and settles nothing", async () => {
    const { id } = await traded();
    expect((await settle({ id, outcome: "yes" }, { answers: [null] })).exit).toBe(130);
    expect((await api.getMarket({ id })).status).toBe("open");
  });

  test("on a terminal a mismatch is told before anything is typed", async () => {
    const { id } = await traded();
    const refused = await settle({ id, outcome: "yes", expectPayouts: 9 }, { answers: [] });
    expect(refused.exit).toBe(7);
    expect(refused.terminal.questions).toEqual([]);
  });

  test("what was seen is what is paid: a trade before the confirmation stops the settlement", async () => {
    const { id } = await traded();
    const io = testIo({ format: "json", answers: [`${id} yes`] });
    const { type } = io.prompts;
    io.prompts.type = async (question, expected) => {
      await door.api("bob").placeTrade({ marketId: id, selection: { side: "yes" }, amount: 1 });
      return type(question, expected);
    };
    const refused = await end(io, () => runMarketSettle({ id, outcome: "yes" }, api, io));
    expect(refused.exit).toBe(7);
    expect((await api.getMarket({ id })).status).toBe("open");
  });

  test("an outcome that traders do not believe in is called out", async () => {
    const { id } = await traded();
    const { stderr, exit } = await settle({ id, outcome: "no" }, { answers: [`${id} no`] });
    expect(exit).toBe(0);
    expect(stderr).toMatch(/NO at 0\.4\d\d: traders expect the OPPOSITE/);
  });
});
