import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditShow, runAuditFollow, runAuditList } from "../../src/cli/audit/audit-list.ts";
import type { Api, WireInput, WireResult } from "../../src/contract/operations.ts";
import { connect } from "../../src/postgres/connect.ts";
import { anyMarket } from "../support/market.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { end, testIo } from "./support/io.ts";

type Page = WireResult<"listAudit">;

describe.each(doors)("the journal through the %s door", (_name, open) => {
  let door: TestDoor;
  let api: Api;
  let [rain, snow] = ["", ""];
  beforeAll(async () => {
    door = await open();
    api = door.api();
    rain = (await api.createMarket(anyMarket({ question: "Will it rain?" }))).id;
    await door.deposit("ann", 100);
    await door.deposit("bob", 100);
    await door.api("ann").placeTrade({ marketId: rain, selection: { side: "yes" }, amount: 25 });
    snow = (await api.createMarket(anyMarket({ question: "Will it SNOW?" }))).id;
    await door.api("bob").placeTrade({ marketId: snow, selection: { side: "no" }, amount: 10 });
    await door.api("ann").placeTrade({ marketId: snow, selection: { side: "no" }, amount: 5 });
  });
  afterAll(() => door.close());

  const types = (entries: Page["entries"]) =>
    entries.map(({ type, payload }) => `${type} ${payload.userId ?? payload.marketId}`);
  async function list(filter: Omit<WireInput<"listAudit">, "limit" | "cursor">, limit?: number) {
    const io = testIo({ format: "json" });
    const { stdout, exit } = await end(io, () => runAuditList({ filter, limit }, api, io));
    expect(exit).toBe(0);
    return JSON.parse(stdout) as Page;
  }

  test("its rows are sentences that fit the terminal, and data formats have the entries as they are", async () => {
    const io = testIo({ terminal: 80, color: false });
    const { stdout } = await end(io, () =>
      runAuditList({ filter: { userId: "ann", type: "trade.executed" } }, api, io),
    );
    // A sentence goes on below its beginning.
    const [title, newest, older, ...rest] = stdout
      .trimEnd()
      .replaceAll(/\n {5,}/g, " ")
      .split("\n");
    expect(title).toMatch(/^SEQ {2}TIME {18}WHAT$/);
    expect(newest).toMatch(/Z {2}ann bought \d\.\d+ No of 'Will it .*' for \$5\.00/);
    expect(older).toMatch(/Z {2}ann bought \d+\.\d+ Yes of 'Will it .*' for \$25\.00/);
    expect(rest).toEqual([]);
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    expect(Object.keys(await list({}))).toEqual(["entries", "cursor"]);
  });

  test("filters by user, market and text, alone and together", async () => {
    expect(types((await list({ userId: "bob" })).entries)).toEqual(["trade.executed bob", "wallet.credited bob"]);
    expect(types((await list({ marketId: snow })).entries)).toEqual([
      "trade.executed ann",
      "trade.executed bob",
      `market.created ${snow}`,
    ]);
    expect(types((await list({ marketId: snow, userId: "ann" })).entries)).toEqual(["trade.executed ann"]);
    // Of a trade the payload holds the market's id alone: its question is looked at all the same.
    expect(types((await list({ q: "will IT snow" })).entries)).toHaveLength(3);
    expect(types((await list({ q: "payments", userId: "ann" })).entries)).toEqual(["wallet.credited ann"]);
    expect((await list({ q: "%" })).entries).toEqual([]);
  });

  test("filters by times: the first belongs to what is shown, the last does not", async () => {
    const { entries } = await list({});
    const [last, first] = [entries.at(0), entries.at(-1)];
    const [from, to] = [entries.at(-3)?.ts ?? "", entries.at(2)?.ts ?? ""];
    const within = entries.filter(({ ts }) => ts >= from && ts < to);
    const afterLast = new Date(Date.parse(last?.ts ?? "") + 1).toISOString();
    expect((await list({ since: from, until: to })).entries).toEqual(within);
    expect((await list({ since: from, until: to, after: 0 })).entries).toEqual(within.toReversed());
    expect((await list({ since: first?.ts, until: afterLast })).entries).toEqual(entries);
    expect((await list({ since: "2999-01-01T00:00:00Z" })).entries).toEqual([]);
    expect((await list({ until: "1999-01-01T00:00:00Z" })).entries).toEqual([]);
    const split = await list({ since: from, until: to, userId: "ann" }, 1);
    expect(split.entries).toHaveLength(1);
  });

  test("a search for a text looks at a part of the log for each request, and all parts have every entry once", async () => {
    const sql = connect(door.database.connection, { name: "owner", max: 1 });
    const [newest] = (await list({}, 1)).entries;
    const shift = 120_000;
    // A log with a gap is as long for a search as one with all of its entries.
    await sql`update audit set seq = seq + ${shift} where seq = ${newest?.seq ?? 0}`;
    await sql`update head set seq = seq + ${shift}`;
    for (const order of [{}, { after: 0 }]) {
      const found: number[] = [];
      let [requests, cursor]: [number, string | null | undefined] = [0, undefined];
      do {
        const page: Page = await api.listAudit({ q: '"userId":"ann"', limit: 2, cursor, ...order });
        found.push(...page.entries.map(({ seq }) => seq));
        [requests, cursor] = [requests + 1, page.cursor];
      } while (cursor !== null);
      expect(found).toHaveLength(3);
      expect(new Set(found).size).toBe(3);
      expect(requests).toBeGreaterThan(2);
    }
    await sql`update head set seq = seq - ${shift}`;
    await sql`update audit set seq = seq - ${shift} where seq > ${shift}`;
    await sql.end();
  });

  test("one entry is shown with its sentence and its payload; one that is not there ends with 5", async () => {
    const [trade] = (await list({ type: "trade.executed", marketId: rain })).entries;
    const seq = trade?.seq ?? 0;
    const sentence = expect.stringMatching(/^ann bought \d+\.\d+ Yes of 'Will it rain\?' for \$25\.00/);
    expect(await api.getAuditEntry({ seq })).toEqual({ ...trade, sentence });
    const io = testIo({ terminal: 200, color: false });
    expect((await end(io, () => auditShow.run({ seq }, api, io))).stdout).toMatch(/^userId +ann$/m);
    const none = testIo({ format: "json" });
    expect((await end(none, () => auditShow.run({ seq: 99_999 }, api, none))).exit).toBe(5);
  });

  test("followed, it prints the last entries and each new one once, and ends with 130", async () => {
    const stop = new AbortController();
    const io = testIo({ format: "ndjson" });
    const write = io.stdout.write.bind(io.stdout);
    let acted: Promise<unknown> | undefined;
    io.stdout.write = (text: string) => {
      write(text);
      acted ??= (async () => {
        await api.suspendMarket({ id: rain });
        await api.suspendMarket({ id: snow });
        await api.resumeMarket({ id: snow });
      })();
      if (text.includes("market.resumed")) stop.abort();
    };
    const options = { limit: 1, filter: { marketId: snow }, stopped: stop.signal, pauseMs: 20 };
    const { stdout } = await end(io, () => runAuditFollow(options, api, io));
    await acted;
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).type)).toEqual([
      "trade.executed",
      "market.suspended",
      "market.resumed",
    ]);
  });
});
