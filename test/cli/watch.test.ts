import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runMarketWatch } from "../../src/cli/market/market-watch.ts";
import { eventSource } from "../../src/client/event-source.ts";
import { localEvents } from "../../src/client/local-events.ts";
import type { Api } from "../../src/contract/operations.ts";
import { anyMarket } from "../support/market.ts";
import { ADMIN_KEY, doors, type TestDoor } from "./support/doors.ts";
import { end, type TestIo, testIo } from "./support/io.ts";

describe.each(doors)("market watch through the %s door", (_name, open) => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await open();
    api = door.api();
    await door.deposit("ann", 500);
  });
  afterAll(() => door.close());

  const create = async (question: string) => (await api.createMarket(anyMarket({ question }))).id;
  const trade = (marketId: string) => door.api("ann").placeTrade({ marketId, selection: { side: "yes" }, amount: 5 });

  /** Watches until what was printed satisfies `seen`, acting once the state at the beginning is out. */
  async function watch(
    io: TestIo,
    id: string | undefined,
    act: () => Promise<unknown>,
    seen: (text: string) => boolean,
  ) {
    const stop = new AbortController();
    const write = io.stdout.write.bind(io.stdout);
    let acted: Promise<unknown> | undefined;
    io.stdout.write = (text: string) => {
      write(text);
      if (text.includes("snapshot") || text.startsWith("\u001b[H")) acted ??= act();
      if (seen(io.stdout.text)) stop.abort();
    };
    const events = (markets: readonly string[] | undefined) =>
      door.url === undefined
        ? localEvents(door.services, { markets, signal: stop.signal })
        : eventSource({ url: door.url, fetch, apiKey: ADMIN_KEY, markets, signal: stop.signal });
    const ending = await end(io, () => runMarketWatch({ id, events }, api, io));
    await acted;
    return ending;
  }

  test("in a pipe it prints the state, then each event as a line of JSON, and ends when it is told to", async () => {
    const [id, other] = [await create("Watched?"), await create("Not watched?")];
    const act = async () => {
      await trade(other);
      await trade(id);
      await api.suspendMarket({ id });
    };
    const { exit, stdout, stderr } = await watch(testIo(), id, act, (text) => text.includes('"suspended"'));
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ event }) => event)).toEqual(["snapshot", "price", "trade", "market"]);
    expect(lines[0].markets).toEqual([expect.objectContaining({ marketId: id, yesPrice: 0.5, status: "open" })]);
    expect(lines[2]).toMatchObject({ marketId: id, side: "yes", amount: 5 });
    expect(lines[3]).toMatchObject({ marketId: id, status: "suspended" });
    expect(stdout).not.toContain("ann");
  });

  test("on a terminal it redraws in place, with questions, also of a market that opens meanwhile, and tidies up", async () => {
    await create("Here before?");
    const io = testIo({ terminal: 100, color: false });
    const act = async () => trade(await create("Here after?"));
    const { exit, stdout } = await watch(io, undefined, act, (text) => /Here after\?[^\n]*YES 5\.00/.test(text));
    expect(exit).toBe(0);
    expect(stdout.startsWith("\u001b[?1049h")).toBe(true);
    expect(stdout.endsWith("\u001b[?25h\u001b[?1049l")).toBe(true);
    const last = stdout.split("\u001b[H").at(-1) ?? "";
    expect(last).toMatch(/Here before\?\s+open\s+0\.500/);
    expect(last).toMatch(/Here after\?\s+open\s+0\.5\d\d/);
  });

  test("a market that is not there ends with 5, and a format that cannot be live with 6", async () => {
    const io = testIo();
    const events = () => {
      throw new Error("nothing is followed");
    };
    expect(await end(io, () => runMarketWatch({ id: "mkt_nowhere", events }, api, io))).toMatchObject({ exit: 5 });
    const csv = testIo({ format: "csv" });
    expect(await end(csv, () => runMarketWatch({ events }, api, csv))).toMatchObject({ exit: 6, stdout: "" });
  });
});
