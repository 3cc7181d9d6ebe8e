import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tellUser } from "../../src/app/story/tell-story.ts";
import { reportHouse } from "../../src/cli/commands/report.ts";
import { userPortfolio } from "../../src/cli/commands/user.ts";
import { marketShow } from "../../src/cli/market/market.ts";
import { type CorrectOptions, runMarketCorrect } from "../../src/cli/market/market-correct.ts";
import { runMarketSettle } from "../../src/cli/market/market-settle.ts";
import { runMarketVoid, type VoidOptions } from "../../src/cli/market/market-void.ts";
import type { Api } from "../../src/contract/operations.ts";
import { anyMarket } from "../support/market.ts";
import { openHttpDoor, type TestDoor } from "./support/doors.ts";
import { end, type TestIoOptions, testIo } from "./support/io.ts";

const REASON = "The match was called off";

describe("voiding and correcting on the command line", () => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await openHttpDoor({ correctionHours: 24 });
    api = door.api();
    for (const user of ["ann", "bob", "cyd", "dan"]) await door.deposit(user, 5000);
  });
  afterAll(() => door?.close());

  const trade = (user: string, marketId: string, selection: object, rest: object) =>
    door.api(user).placeTrade({ marketId, selection: { side: "yes", ...selection }, ...rest } as never);

  /** A market whose void needs the treasury: ann and cyd have won by selling. Resolves to its id. */
  async function soldOut(): Promise<string> {
    const { id } = await api.createMarket(anyMarket({ question: "Will they win?", liquidityUsd: 20 }));
    const ann = await trade("ann", id, {}, { amount: 20 });
    await trade("bob", id, {}, { amount: 100 });
    await trade("ann", id, { action: "sell" }, { shares: ann.shares });
    const cyd = await trade("cyd", id, { side: "no" }, { amount: 40 });
    await trade("dan", id, { side: "no" }, { amount: 200 });
    await trade("cyd", id, { side: "no", action: "sell" }, { shares: cyd.shares });
    return id;
  }

  async function traded(): Promise<string> {
    const { id } = await api.createMarket(anyMarket({ question: "Will it pay?", liquidityUsd: 500 }));
    await trade("ann", id, {}, { amount: 20 });
    return id;
  }

  const run = async (work: (io: ReturnType<typeof testIo>) => Promise<void>, options: TestIoOptions = {}) => {
    const io = testIo({ format: "json", ...options });
    return { ...(await end(io, () => work(io))), io };
  };
  const voids = (options: VoidOptions, io?: TestIoOptions) => run((at) => runMarketVoid(options, api, at), io);
  const corrects = (options: CorrectOptions, io?: TestIoOptions) => run((at) => runMarketCorrect(options, api, at), io);
  const rows = (text: string) => text.split("\n").map((line) => line.split(/ {2,}/));
  const status = async (id: string) => (await api.getMarket({ id })).status;

  test("the preview of a void says who gets back what, and what comes from fees and treasury", async () => {
    const id = await soldOut();
    const { stdout, exit } = await voids({ id, preview: true }, { format: "table" });
    expect(exit).toBe(0);
    expect(rows(stdout)).toEqual(
      expect.arrayContaining([
        ["outcome", "VOID"],
        ["gets back its cost", "each of 2 open positions"],
        ["escrow", "209.464424 USD"],
        ["paid to them", "300.00 USD, their fees included"],
        ["from fees", "3.00 USD of it, which the house has had from their trades"],
        ["largest payout", "200.00 USD to dan"],
        ["from the treasury", "87.535576 USD, which the escrow lacks because sales won"],
        ["to the treasury", "nothing"],
        ["house", "loses 107.535576 USD, not counting the fees of trades"],
      ]),
    );
    expect(await status(id)).toBe("open");
  });

  test("with --yes a void takes from the treasury only what --max-treasury states, else 7", async () => {
    const id = await soldOut();
    for (const maxTreasury of [undefined, 87.53])
      expect(await voids({ id, reason: REASON, yes: true, maxTreasury })).toMatchObject({
        ...{ exit: 7, stdout: "", stderr: expect.stringContaining("EXPECTATION_NOT_MET") },
      });
    expect(await status(id)).toBe("open");
    const { exit, stdout } = await voids({ id, reason: REASON, yes: true, maxTreasury: 90 });
    expect(exit).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: "void", fromTreasuryUsd: 87.535576, payoutsProcessed: 2 });
  });

  test("a treasury that would add too much is refused with the flag that allows more", async () => {
    const id = await soldOut();
    const { stderr } = await voids({ id, reason: REASON, yes: true });
    expect(stderr).toContain("--max-treasury");
  });

  test("the confirmation says that an end can be corrected, and for how long", async () => {
    const id = await traded();
    const { stderr } = await voids({ id, reason: REASON }, { answers: ["no"] });
    expect(stderr).toContain("To pay the positions back, which can be corrected for 24 h, type");
    expect(stderr).not.toContain("cannot be undone");
  });

  test("the preview of a correction shows the question", async () => {
    const id = await traded();
    await voids({ id, reason: REASON, yes: true });
    const { stdout } = await corrects({ id, outcome: "yes", preview: true }, { format: "table" });
    expect(rows(stdout)).toContainEqual(["question", "Will it pay?"]);
  });

  test("a person who confirms the preview has stated what the treasury adds", async () => {
    const id = await soldOut();
    const { exit, stderr } = await voids({ id, reason: REASON }, { answers: [`${id} void`] });
    expect(exit).toBe(0);
    expect(stderr).toContain("87.535576 USD, which the escrow lacks");
  });

  test("what was shown binds: a trade before the confirmation stops the void with 7", async () => {
    const id = await soldOut();
    const io = testIo({ format: "json", answers: [`${id} void`] });
    const { type } = io.prompts;
    io.prompts.type = async (question, expected) => {
      await trade("bob", id, {}, { amount: 1 });
      return type(question, expected);
    };
    expect(await end(io, () => runMarketVoid({ id, reason: REASON }, api, io))).toMatchObject({ exit: 7 });
    expect(await status(id)).toBe("open");
  });

  test.each<[string, Partial<VoidOptions>]>([
    ["payouts", { expectPayouts: 9 }],
    ["total", { expectTotal: 1 }],
    ["treasury", { maxTreasury: 1 }],
  ])("on a terminal a wrong %s is told before anything is typed", async (_what, expected) => {
    const id = await soldOut();
    const { exit, io } = await voids({ id, reason: REASON, ...expected }, { answers: [] });
    expect([exit, io.questions]).toEqual([7, []]);
  });

  test("a market tells its void in words, and so do its users and the house's report", async () => {
    const id = await traded();
    await voids({ id, reason: REASON, yes: true });
    const shown = await run((io) => marketShow.run({ id }, api, io), { format: "table" });
    expect(rows(shown.stdout)).toEqual(
      expect.arrayContaining([
        ["status", "settled: void: positions got back what they cost"],
        ["because", REASON],
      ]),
    );
    const portfolio = await run((io) => userPortfolio.run({ id: "ann" }, api, io), { format: "table" });
    expect(portfolio.stdout).toContain("of Will it pay?: void, paid back 20.00");
    const report = await run((io) => reportHouse.run({}, api, io), { format: "table" });
    expect(report.stderr).toMatch(/voided markets? paid \d+ positions back/);
  });

  test("a user's story tells what a fraction, a correction and a void paid, and what was taken back", async () => {
    const paidOf = async (id: string) => (await api.previewSettlement({ id, outcome: "yes=0.4" })).totalUsd;
    const [voided, settled] = [await traded(), await traded()];
    const paid = await paidOf(settled);
    await api.settleMarket({ marketId: settled, outcome: { yes: 0.4 } });
    await api.correctMarket({ id: settled, outcome: "no", reason: REASON });
    await api.voidMarket({ id: voided, reason: REASON });
    const { lines } = await tellUser("acme", "ann", api);
    const told = lines.filter(({ kind }) => kind === "payout").slice(-3);
    expect(told.map(({ amountUsd }) => amountUsd)).toEqual([paid, -paid, 20]);
    expect(told.map(({ sentence }) => sentence)).toEqual([
      expect.stringMatching(/^ann was paid \$[\d.]+ for [\d.]+ Yes at 0\.4 of 'Will it pay\?'$/),
      `ann had to give back $${paid} when 'Will it pay?' was corrected from Yes at 0.4 to No`,
      "ann was refunded $20, the cost of its shares of 'Will it pay?' with $0.2 of fees",
    ]);
  });

  test("a fraction is previewed and settled with what each share is paid", async () => {
    const id = await traded();
    const options = { id, outcome: { yes: 0.4 } } as const;
    const preview = await run((io) => runMarketSettle({ ...options, preview: true }, api, io), { format: "table" });
    expect(rows(preview.stdout)).toEqual(
      expect.arrayContaining([
        ["outcome", "YES=0.4"],
        ["a YES share", "0.40 USD"],
        ["a NO share", "0.60 USD"],
        ["pays", "1 position"],
      ]),
    );
    const settled = await run((io) => runMarketSettle({ ...options, yes: true, early: true }, api, io));
    expect(JSON.parse(settled.stdout)).toMatchObject({ outcome: { yes: 0.4 }, payoutsProcessed: 1 });
    const shown = await run((io) => marketShow.run({ id }, api, io), { format: "table" });
    expect(shown.stdout).toContain("settled: yes=0.4: a YES share was paid 0.40, a NO share 0.60");
  });

  describe("a correction", () => {
    const settled = async (outcome: "yes" | "no") => {
      const id = await traded();
      await api.settleMarket({ marketId: id, outcome });
      return id;
    };

    test("is previewed in words, and shown with its reason afterwards", async () => {
      const id = await settled("no");
      const { stdout } = await corrects({ id, outcome: "yes", preview: true }, { format: "table" });
      const { fromTreasuryUsd, paidUsd } = await api.previewCorrection({ id, outcome: "yes" });
      expect(fromTreasuryUsd).toBe(paidUsd);
      expect(rows(stdout)).toEqual(
        expect.arrayContaining([
          ["outcome", "from NO to YES"],
          ["concerns", "1 user"],
          ["taken back", "0.00 USD"],
          ["paid", `${paidUsd} USD, first to what its users owe`],
          ["from the treasury", `${fromTreasuryUsd} USD, which the new outcome pays more`],
          ["to the treasury", "nothing"],
        ]),
      );
      const { exit, stderr } = await corrects({ id, outcome: "yes", reason: REASON }, { answers: [`${id} yes`] });
      expect([exit, stderr]).toEqual([0, expect.stringContaining("from NO to YES")]);
      const shown = await run((io) => marketShow.run({ id }, api, io), { format: "table" });
      expect(shown.stdout).toMatch(/corrected +from no to yes at .*: The match was called off/);
    });

    test("takes what its preview says with --yes, and at most --max-treasury", async () => {
      const id = await settled("no");
      const options = { id, outcome: "yes", reason: REASON, yes: true } as const;
      expect(await corrects({ ...options, maxTreasury: 1 })).toMatchObject({ exit: 7, stdout: "" });
      expect(await corrects({ ...options, expectReceivables: 1 })).toMatchObject({ exit: 7, stdout: "" });
      expect(await corrects(options)).toMatchObject({ exit: 0 });
      expect(await corrects({ ...options, outcome: "yes" })).toMatchObject({
        ...{ exit: 7, stderr: expect.stringContaining("OUTCOME_UNCHANGED") },
      });
    });

    test("without --yes and without a terminal ends with 6", async () => {
      const id = await settled("yes");
      expect(await corrects({ id, outcome: "no", reason: REASON })).toMatchObject({ exit: 6, stdout: "" });
      expect(await voids({ id, reason: REASON })).toMatchObject({ exit: 6, stdout: "" });
    });
  });
});
