import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RebuiltState } from "../../src/app/replay/rebuild-state.ts";
import { runReplay } from "../../src/cli/audit/replay.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Rebuilt } from "../../src/replay/rebuilt.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";
import { end, testIo } from "./support/io.ts";

const USERS = ["ann", "bob", "cat"];

/** A sequence that is the same in every run. */
function dice(seed: number) {
  let state = seed;
  return (sides: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

describe("pmctl replay", () => {
  let tenant: TestTenant;
  const markets: string[] = [];
  /** What the API said after an entry. */
  const said = new Map<number, Rebuilt>();
  beforeAll(async () => {
    tenant = await openTestTenant({ kycRequired: false });
    const roll = dice(7);
    markets.push(await tenant.market({ kind: "lmsr" }), await tenant.market({ kind: "cpmm", p0: 0.3 }));
    await applyMarkets();
    for (const user of USERS) await tenant.deposit(user, 500);
    for (let step = 0; step < 45; step++) {
      const user = USERS[roll(3)] ?? "";
      const id = markets[roll(markets.length)] ?? "";
      await act(roll(12), user, id, roll(40) + 1).catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error;
      });
      if (step % 3 === 0) said.set(await lastEntry(), await ask());
    }
    await applyMarkets();
    await tenant.api("ann").requestWithdrawal({ amount: 1 });
    await tenant.api().settleMarket({ marketId: markets.at(-1) ?? "", outcome: "no" });
    said.set(await lastEntry(), await ask());
  });

  /** An apply that pays in what its new markets take beyond all that is in the treasury. */
  async function applyMarkets(): Promise<void> {
    const [row] = await tenant.sql`
      select t.capital_micro, a.balance_micro from tenant t, account a where a.id = 'treasury'`;
    const added = ["a", "b"].map((name) => ({
      id: `mkt_${name}${markets.length}`,
      fileKey: `${name}${markets.length}`,
    }));
    await tenant.services.sequencer.submit({
      command: {
        type: "applyConfig",
        policy: {},
        kycRequired: false,
        liquidityMicro: 1_000_000_000n,
        capitalMicro: BigInt(row?.capital_micro) + 100_000_000n,
        keys: [],
        markets: added.map((each) => ({
          ...{ question: "Will it rain?", category: "weather", kind: "lmsr", p0Ppm: 500_000, resolutionRef: "judge" },
          ...{
            meta: "{}",
            closeAt: Date.UTC(2096, 0),
            liquidityMicro: (BigInt(row?.balance_micro) + 100_000_000n) / 2n,
          },
          ...{ ...each, state: "suspended" },
        })),
        document: "{}",
        documentSha256: "0".repeat(64),
        gitCommit: undefined,
      },
      actor: "admin:ops",
    });
    markets.push(...added.map(({ id }) => id));
  }
  afterAll(() => tenant.close());

  async function act(what: number, user: string, id: string, amount: number): Promise<unknown> {
    const side = amount % 2 === 0 ? "yes" : "no";
    if (what < 6) return tenant.api(user).placeTrade({ marketId: id, selection: { side }, amount });
    if (what === 6)
      return tenant.api(user).placeTrade({ marketId: id, selection: { side, action: "sell" }, shares: amount / 8 });
    if (what === 7) return tenant.deposit(user, amount);
    if (what === 8) {
      const { withdrawalId } = await tenant.api(user).requestWithdrawal({ amount });
      if (amount > 10) await tenant.api()[amount > 20 ? "approveWithdrawal" : "rejectWithdrawal"]({ id: withdrawalId });
    }
    if (what === 9) return tenant.api()[amount > 20 ? "suspendMarket" : "resumeMarket"]({ id });
    if (what === 10) return tenant.api().updatePolicy({ feeBps: amount });
    if (amount > 30 && said.size > 8) return tenant.api().settleMarket({ marketId: id, outcome: side });
    return undefined;
  }

  async function lastEntry(): Promise<number> {
    return (await tenant.api().getAuditStatus({})).count;
  }

  async function ask(): Promise<Rebuilt> {
    const users = USERS.map(async (userId) => {
      const { balanceUsd } = await tenant.api(userId).getWallet({});
      const positions = (await tenant.api(userId).listPositions({})).filter(({ shares }) => shares > 0);
      return {
        userId,
        balanceUsd,
        positions: positions.map(({ marketId, side, shares }) => ({ marketId, side, shares })),
      };
    });
    const shown = markets.toSorted().map(async (id) => {
      const { status, yesPrice, volume } = await tenant.api().getMarket({ id });
      return { id, status, yesPrice, volume };
    });
    const rows =
      await tenant.sql`select id, balance_micro::float8 / 1e6 as usd from account where id in ('treasury', 'fees')`;
    const usd = (account: string) => rows.find(({ id }) => id === account)?.usd ?? 0;
    return {
      users: await Promise.all(users),
      markets: await Promise.all(shown),
      house: { treasuryUsd: usd("treasury"), feesUsd: usd("fees") },
    };
  }

  async function replay(to?: number) {
    const io = testIo({ format: "json" });
    const session = { tenant: { id: "acme" }, services: tenant.services } as Parameters<typeof runReplay>[1];
    const { exit, stdout, stderr } = await end(io, () => runReplay({ to }, session, io));
    return {
      exit,
      stderr,
      state: (stdout === "" ? undefined : JSON.parse(stdout)) as RebuiltState & { tenant: string },
    };
  }

  const inOrder = ({ users, markets, house }: Rebuilt): Rebuilt => ({
    users: users.map((user) => ({
      ...user,
      positions: user.positions.toSorted((a, b) => `${a.marketId}${a.side}`.localeCompare(`${b.marketId}${b.side}`)),
    })),
    markets,
    house,
  });

  test("what the log gives for any entry is what the API said at that moment", async () => {
    const head = await lastEntry();
    expect(said.size).toBeGreaterThan(10);
    for (const [to, answers] of said) {
      const { exit, state } = await replay(to === head ? undefined : to);
      expect({ exit, to: state.to, head: state.head, differences: state.differences }).toEqual({
        ...{ exit: 0, to, head, differences: [] },
      });
      const [entry] = await tenant.sql`select hash from audit where seq = ${to}`;
      expect(state).toMatchObject({ tenant: "acme", ok: true, hash: entry?.hash });
      expect(inOrder(state)).toEqual(inOrder(answers));
    }
  });

  test.each([0, 1_000_000])("entry %i is not in the log: exit code 5", async (to) => {
    expect(await replay(to)).toMatchObject({ exit: 5, stderr: expect.stringContaining(`no entry ${to}`) });
  });

  const owner = () => tenant.sql;
  const first = (credit: string) =>
    owner()`credit = ${credit} and seq = (select min(seq) from transfer where credit = ${credit})`;
  test.each([
    {
      what: "account",
      id: "wallet:ann",
      field: "balanceUsd",
      forge: () => owner()`update account set balance_micro = balance_micro + 1000000 where id = 'wallet:ann'`,
      mend: () => owner()`update account set balance_micro = balance_micro - 1000000 where id = 'wallet:ann'`,
    },
    {
      what: "account",
      id: "fees",
      field: "feesUsd",
      forge: () => owner()`update account set balance_micro = balance_micro + 7 where id = 'fees'`,
      mend: () => owner()`update account set balance_micro = balance_micro - 7 where id = 'fees'`,
    },
    {
      what: "position",
      id: expect.stringContaining("bob mkt_"),
      field: "shares",
      forge: () => owner()`update position set shares_micro = shares_micro + 5 where trader_id = 'bob'`,
      mend: () => owner()`update position set shares_micro = shares_micro - 5 where trader_id = 'bob'`,
    },
    {
      what: "market",
      id: expect.stringContaining("mkt_"),
      field: "volume",
      forge: () => owner()`update book set volume_micro = volume_micro + 5`,
      mend: () => owner()`update book set volume_micro = volume_micro - 5`,
    },
    {
      what: "transfer",
      id: "external:payments to wallet:cat",
      field: "amountUsd",
      forge: () => owner()`update transfer set amount_micro = amount_micro + 5 where ${first("wallet:cat")}`,
      mend: () => owner()`update transfer set amount_micro = amount_micro - 5 where ${first("wallet:cat")}`,
    },
  ])("a forged $what is named, with both values: exit code 8", async ({ what, id, field, forge, mend }) => {
    await forge();
    const { exit, state, stderr } = await replay();
    await mend();
    expect(exit).toBe(8);
    expect(state.ok).toBe(false);
    expect(state.differences).toContainEqual({ what, id, field, log: expect.anything(), table: expect.anything() });
    expect(stderr).toContain(what);
    expect((await replay()).exit).toBe(0);
  });

  const turned = "case outcome when 'yes' then 'no' else 'yes' end";
  test.each([
    ["market", "outcome", "book", "outcome", turned, turned, "outcome is not null"],
    ["market", "lastPrice", "book", "yes_price_ppm", "yes_price_ppm + 9", "yes_price_ppm - 9", "volume_micro > 0"],
    ["market", "question", "market", "question", "question || '!'", "rtrim(question, '!')", "true"],
    ["market", "closeAt", "market", "close_at", "close_at + 60000", "close_at - 60000", "true"],
    ["market", "liquidityUsd", "market", "fund_micro", "fund_micro + 5", "fund_micro - 5", "true"],
    ["market", "p0", "market", "p0_ppm", "p0_ppm + 5", "p0_ppm - 5", "true"],
    [
      "withdrawal",
      "amountUsd",
      "withdrawal",
      "amount_micro",
      "amount_micro + 5",
      "amount_micro - 5",
      "status = 'pending'",
    ],
    ["trade", "feeUsd", "trade", "fee_micro", "fee_micro + 5", "fee_micro - 5", "amount_micro > 1000000"],
    ["trade", "yesPrice", "trade", "yes_price_ppm", "yes_price_ppm + 5", "yes_price_ppm - 5", "true"],
    ["trade", "ts", "trade", "ts", "ts + 600000", "ts - 600000", "true"],
  ])("of a %s its %s is compared", async (what, field, table, column, forged, mended, where) => {
    const set = (value: string) => tenant.sql.unsafe(`update ${table} set ${column} = ${value} where ${where}`);
    expect((await set(forged)).count).toBeGreaterThan(0);
    const { exit, state } = await replay();
    await set(mended);
    expect(exit).toBe(8);
    expect(state.differences).toContainEqual(expect.objectContaining({ what, field }));
    expect((await replay()).exit).toBe(0);
  });

  test("a missing row is a difference without a value in the table", async () => {
    const [row] = await tenant.sql`delete from account where id = 'wallet:bob' returning *`;
    const { state } = await replay();
    await tenant.sql`insert into account ${tenant.sql(row ?? {})}`;
    const found = expect.objectContaining({ what: "account", id: "wallet:bob", table: null });
    expect(state.differences).toEqual([found]);
  });

  test("a log that was altered is followed up to there, and not past it", async () => {
    const [row] = await tenant.sql`select payload from audit where seq = 12`;
    await tenant.sql`update audit set payload = replace(payload, '"amount":"', '"amount":"9') where seq = 12`;
    const { exit, state } = await replay();
    await tenant.sql`update audit set payload = ${row?.payload} where seq = 12`;
    expect({ exit, to: state.to, differences: state.differences }).toEqual({
      exit: 8,
      to: 11,
      differences: [{ what: "audit", id: "12", field: "hash", log: expect.any(String), table: expect.any(String) }],
    });
  });

  test("reads one moment while another process goes on writing", async () => {
    let isOver = false;
    const writing = (async () => {
      for (let trades = 0; !isOver; trades++)
        await tenant.services.sequencer.submit({
          command: { type: "creditWallet", id: `credit_${trades}`, traderId: "ann", amountMicro: 1n },
          actor: "admin:ops",
        });
    })();
    for (let pass = 0; pass < 5; pass++) expect((await replay()).exit).toBe(0);
    isOver = true;
    await writing;
  });
});
