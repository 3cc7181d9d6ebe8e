import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { GENESIS_HASH } from "../../src/domain/audit/audit-link.ts";
import type { Command } from "../../src/engine/commands.ts";
import type { Batch, Head } from "../../src/ledger/commit.ts";
import type { Journal } from "../../src/ledger/journal.ts";
import { prepareBatch, type Submission } from "../../src/ledger/sequencer/batch.ts";
import { StatementFailed } from "../../src/postgres/connect.ts";
import { marketHours } from "../../src/queries/rollups.ts";
import { World } from "../engine/world.ts";
import { config, DOLLAR, deposit, dump, KEY, type Live, market, openLive, trade } from "./sequencer/live.ts";

const START: Head = { seq: 0n, hash: GENESIS_HASH, epoch: 0n, ts: 0 };
const NOW = 1_800_000_000_000;
const LATER = NOW + 1_000_000_000_000;

let live: Live;
let journal: Journal;

async function open(): Promise<void> {
  live = await openLive();
  const [only] = live.journals;
  if (!only) throw new Error("There is no journal");
  journal = only;
}

function batchOf(commands: (Command | Submission)[], head = START, state = new World()): Batch {
  const submissions = commands.map((each) => ("command" in each ? each : { command: each, actor: "test" }));
  const { batch, outcomes } = prepareBatch(state, submissions, { head, now: NOW, key: KEY });
  const refused = outcomes.find(({ kind }) => kind === "refused");
  if (!batch || refused) throw new Error(`Not a batch: ${JSON.stringify(refused)}`);
  return batch;
}

const render = () => ({ status: 200, body: '{"first":true}' });
const opening = () =>
  batchOf([
    config(),
    market("m1", { closeAt: LATER }),
    deposit("ann", 100n * DOLLAR, "tx_1"),
    {
      command: trade("m1", "ann", { id: "trd_a", side: "yes", amountMicro: 10n * DOLLAR }),
      actor: "user:ann",
      idempotency: { caller: "ann", key: "k1", requestHash: "h1" },
      render,
    },
    trade("m1", "ann", { id: "trd_b", side: "no", amountMicro: 5n * DOLLAR }),
  ]);

describe("a batch", () => {
  beforeEach(open);
  afterEach(() => live.close());

  test("is written whole by one statement: journals, rows, answers and the head", async () => {
    const batch = opening();
    expect(await journal.commit(batch)).toMatchObject({ swapped: true });
    const counts = await live.owner`
      select (select count(*) from audit)::int as audit, (select count(*) from transfer)::int as transfer,
             (select count(*) from trade)::int as trade, (select count(*) from market)::int as market,
             (select count(*) from book)::int as book, (select count(*) from position)::int as position,
             (select count(*) from trader)::int as trader, (select count(*) from receipt)::int as receipt,
             (select count(*) from stored_answer)::int as answer, (select count(*) from api_key)::int as key,
             (select count(*) from tenant)::int as tenant, (select count(*) from book where hour > 0)::int as hour`;
    expect(counts[0]).toEqual({
      ...{ audit: 6, transfer: 7, trade: 2, market: 1, book: 1, position: 2 },
      ...{ trader: 1, receipt: 1, answer: 1, key: 1, tenant: 1, hour: 1 },
    });
    expect((await journal.readHead()).head).toEqual({ ...batch.next, epoch: 0n });
    expect(await live.owner`select amount_micro, seq from trade order by seq`).toEqual([
      { amount_micro: "10000000", seq: "5" },
      { amount_micro: "5000000", seq: "6" },
    ]);
  });

  test("reads back as the rows that were written, each one version on", async () => {
    const batch = opening();
    await journal.commit(batch);
    const needs = [
      { table: "tenant", key: "" },
      { table: "account", key: "wallet:ann" },
      { table: "account", key: "escrow:m1" },
      { table: "market", key: "m1" },
      { table: "marketState", key: "m1" },
      { table: "trader", key: "ann" },
      { table: "receipt", key: "payments\ntx_1" },
      { table: "storedAnswer", key: "ann\nk1" },
    ] as const;
    const loaded = await journal.load([...needs]);
    for (const { table, key } of needs) {
      const written = batch.writes.find((write) => write.table === table && write.key === key)?.row;
      const row = loaded.find((each) => each.table === table && each.key === key)?.row;
      expect(row, `${table} ${key}`).toEqual(written && "version" in written ? { ...written, version: 1 } : written);
    }
  });

  test("sent twice takes effect once: the second swaps nothing and writes nothing", async () => {
    const batch = opening();
    await journal.commit(batch);
    const before = await dump(live.owner);
    expect(await journal.commit(batch)).toMatchObject({ swapped: false });
    expect(await dump(live.owner)).toBe(before);
  });

  test.each<[string, Partial<Head>]>([
    ["epoch", { epoch: 1n }],
    ["seq", { seq: 1n }],
    ["hash", { hash: "1".repeat(64) }],
  ])("on top of another %s writes nothing", async (_what, other) => {
    const before = await dump(live.owner);
    expect(await journal.commit({ ...opening(), expected: { ...START, ...other } })).toMatchObject({ swapped: false });
    expect(await dump(live.owner)).toBe(before);
  });

  test("whose time is up by the database's clock writes nothing; one a minute ahead of it goes through", async () => {
    const before = await dump(live.owner);
    const { now } = await journal.readHead();
    expect(await journal.commit({ ...opening(), before: Math.floor(now) })).toMatchObject({ swapped: false });
    expect(await dump(live.owner)).toBe(before);
    expect(await journal.commit({ ...opening(), before: Math.ceil(now) + 60_000 })).toMatchObject({ swapped: true });
  });
});

describe("a batch that does not fit the database fails as a whole", () => {
  let head: Head;

  // One database for all of them: that each leaves it as it was is what they are about.
  beforeAll(async () => {
    await open();
    await journal.commit(opening());
    ({ head } = await journal.readHead());
  });
  afterAll(() => live.close());

  async function refusedWith(batch: Batch, sqlState: string): Promise<void> {
    const before = await dump(live.owner);
    const failure = await journal.commit(batch).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StatementFailed);
    expect(failure).toMatchObject({ sqlState });
    expect(await dump(live.owner)).toBe(before);
    expect((await journal.readHead()).head).toEqual(head);
  }

  /** A deposit whose only fault is the one that the test makes: the provider's account is at the version that it has. */
  async function onlyFault(traderId: string, reference: string): Promise<Batch> {
    const [row] = await live.owner`select balance_micro from account where id = 'external:payments'`;
    const state = new World();
    const id = "external:payments";
    state.put("account", id, { id, balanceMicro: BigInt(row?.balance_micro), version: 1 });
    return batchOf([deposit(traderId, DOLLAR, reference)], head, state);
  }

  const second = () => batchOf([deposit("bob", DOLLAR, "tx_2"), deposit("ann", DOLLAR, "tx_3")], head);

  test.each([-1, 1])("a row whose version is not the one read (off by %d)", async (off) => {
    const batch = second();
    const row = batch.writes.find(({ key }) => key === "wallet:ann")?.row;
    if (row && "version" in row) row.version = 1 + off;
    // Bob's rows are new; only Ann's wallet is stale.
    for (const write of batch.writes)
      if (write.key === "external:payments" && "version" in write.row) write.row.version = 1;
    await refusedWith(batch, "22012");
  });

  test("a row that another writer created in the meantime", async () => {
    await live.owner`insert into account (id, balance_micro, version) values ('wallet:bob', 7, 4)`;
    const state = new World();
    for (const id of ["wallet:ann", "external:payments"]) {
      const [row] = await live.owner`select balance_micro from account where id = ${id}`;
      state.put("account", id, { id, balanceMicro: BigInt(row?.balance_micro), version: 1 });
    }
    await refusedWith(batchOf([deposit("bob", DOLLAR, "tx_2")], head, state), "22012");
    await live.owner`delete from account where id = 'wallet:bob'`;
  });

  test("a payment that was credited before", async () => {
    await refusedWith(await onlyFault("cat", "tx_1"), "23505");
  });

  test("a trade under the id of another one", async () => {
    const batch = await onlyFault("cat", "tx_9");
    const trades = opening()
      .trades.slice(0, 1)
      .map((taken) => ({ ...taken, seq: batch.next.seq }));
    await refusedWith({ ...batch, trades }, "23505");
  });

  test("an account that would be overdrawn", async () => {
    const batch = await onlyFault("cat", "tx_9");
    const row = batch.writes.find(({ key }) => key === "wallet:cat")?.row;
    if (row && "balanceMicro" in row) row.balanceMicro = -1n;
    await refusedWith(batch, "23514");
  });

  test("text that PostgreSQL cannot store", async () => {
    await refusedWith(batchOf([deposit("c\0t", DOLLAR, "tx_9")], head), "22021");
  });

  test("a line break in a text that is sent as a line", async () => {
    const names = await onlyFault("c\nt", "tx_9");
    await refusedWith({ ...names, transfers: [], audit: [] }, "23502");
    await refusedWith({ ...names, writes: [], audit: [] }, "23502");
    await refusedWith(
      { ...names, writes: [], transfers: [], audit: names.audit.map((entry) => ({ ...entry, actor: "a\nb" })) },
      "23502",
    );
  });

  test("a line break in the name of a row, when it makes the names of others that exist", async () => {
    await live.owner`insert into account select id, 7, 1 from unnest('{line_a,line_b,line_c}'::text[]) id`;
    const ids = ["line_a\nline_b", "line_c"];
    const writes = ids.map((id) => ({ table: "account", key: id, row: { id, balanceMicro: 1n, version: 1 } }) as const);
    await refusedWith({ ...(await onlyFault("cat", "tx_9")), transfers: [], writes }, "23502");
    await live.owner`delete from account where id like 'line%'`;
  });

  test("a transfer of zero", async () => {
    const batch = await onlyFault("cat", "tx_9");
    for (const transfer of batch.transfers) transfer.amountMicro = 0n;
    await refusedWith(batch, "23514");
  });
});

describe("a commit writes every value exactly", () => {
  beforeEach(open);
  afterEach(() => live.close());

  test("texts with quotes, array syntax, NULL, line breaks, other scripts or placeholders, and the empty text", async () => {
    const texts = [
      `"a" 'b' \\ \\" \\\\`,
      '{a,b,"c"},{}',
      "NULL",
      "",
      "a\nb\r\n\tc",
      "Wird es regnen? 雨 🌧️",
      "$1 %s :name ?",
    ];
    const commands = texts.map((text, index) =>
      market(`m${index}`, { question: text, resolutionRef: text, closeAt: LATER }),
    );
    await journal.commit(batchOf([config({}), ...commands]));
    const rows = await live.owner`select question, resolution_ref from market order by id`;
    expect(rows).toEqual(texts.map((text) => ({ question: text, resolution_ref: text })));
    const entries = await live.owner`select payload from audit where type = 'market.created' order by seq`;
    expect(entries.map(({ payload }) => JSON.parse(payload).question)).toEqual(texts);
  });

  test("amounts up to the largest bigint keep every digit", async () => {
    const most = 2n ** 63n - 1n;
    await journal.commit(batchOf([deposit("ann", most, "tx_max")]));
    expect(await live.owner`select balance_micro from account order by id`).toEqual([
      { balance_micro: String(-most) },
      { balance_micro: String(most) },
    ]);
  });

  test("an hour's volume adds up over batches, and keeps the last price", async () => {
    await live.run(config());
    await live.run(market("m1"));
    await live.run(deposit("ann", 100n * DOLLAR, "tx"));
    for (const amountMicro of [3n * DOLLAR, 4n * DOLLAR]) await live.run(trade("m1", "ann", { amountMicro }));
    const [hour] = await live.owner`
      select sum(volume_micro) as volume, (array_agg(yes_price_ppm order by hour desc))[1] as price
        from ${marketHours(live.owner)} h`;
    const [last] = await live.owner`select yes_price_ppm from trade order by seq desc limit 1`;
    expect(hour).toEqual({ volume: "7000000", price: last?.yes_price_ppm });
  });
});

describe("a settlement of a market with many holders", () => {
  let crowd: Live;
  beforeAll(async () => {
    crowd = await openLive({ processes: 2 });
  });
  afterAll(() => crowd.close());

  test("pays more winners than a small integer counts", async () => {
    const winners = 33_000;
    await crowd.run(config({ maxTradeUsd: 1e6 }));
    await crowd.run(market("m1"));
    // Positions made by hand: a trade of a micro-dollar each would say nothing more and take longer.
    await crowd.owner`
      with held as (
        insert into position
        select 'u' || n, 'm1', 'yes', 1, 1, 1, 0, 0, 0, 0 from generate_series(1, ${winners}) n
        returning 1)
      update book set yes_micro = yes_micro - (select count(*) from held) where market_id = 'm1'`;
    // The other process, which has not read the book yet.
    await expect(crowd.run({ type: "settleMarket", marketId: "m1", outcome: "yes" }, 1)).resolves.toMatchObject({
      result: { payouts: winners },
    });
    const [paid] = await crowd.owner`select sum(balance_micro)::int as sum from account where id like 'wallet:%'`;
    expect(paid?.sum).toBe(winners);
  });
});
