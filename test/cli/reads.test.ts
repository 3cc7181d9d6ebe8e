import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { risk } from "../../src/cli/commands/exposure.ts";
import {
  reportFunding,
  reportHouse,
  reportOverview,
  reportRisk,
  reportTraders,
} from "../../src/cli/commands/report.ts";
import { positionList } from "../../src/cli/commands/trade.ts";
import { userPortfolio } from "../../src/cli/commands/user.ts";
import { marketDepth, marketTrending } from "../../src/cli/market/market.ts";
import type { Api } from "../../src/contract/operations.ts";
import { anyMarket } from "../support/market.ts";
import { openHttpDoor, type TestDoor } from "./support/doors.ts";
import { end, type Run, runJson, testIo } from "./support/io.ts";

describe("market depth and trending, reports and risk", () => {
  let door: TestDoor;
  let api: Api;
  let id: string;
  beforeAll(async () => {
    door = await openHttpDoor();
    api = door.api();
    const created = await api.createMarket(anyMarket({}));
    id = created.id;
    await door.deposit("usr_1", 100);
    await door.api("usr_1").placeTrade({ marketId: id, selection: { side: "yes" }, amount: 25 });
  });
  afterAll(() => door.close());

  async function printed(run: Run, format: "table" | "csv" | "tsv" | "ndjson" | "markdown" = "table") {
    const io = testIo({ format });
    const { stdout, stderr } = await end(io, () => run(io));
    return { lines: stdout.trimEnd().split("\n"), stderr };
  }

  test.each<[string, Run, (api: Api) => Promise<unknown>]>([
    ["market depth", (io) => marketDepth.run({ id }, api, io), () => api.getMarketDepth({ id })],
    ["market trending", (io) => marketTrending.run({}, api, io), () => api.listTrendingMarkets({})],
    ["report overview", (io) => reportOverview.run({}, api, io), () => api.getOverviewReport({})],
    ["report house", (io) => reportHouse.run({}, api, io), () => api.getHouseReport({})],
    ["report traders", (io) => reportTraders.run({}, api, io), () => api.getTradersReport({})],
    [
      "report funding",
      (io) => reportFunding.run({ periodDays: 7 }, api, io),
      () => api.getFundingReport({ periodDays: 7 }),
    ],
    ["report risk", (io) => reportRisk.run({}, api, io), () => api.getRiskReport({})],
    ["risk", (io) => risk.run({}, api, io), () => api.listRisk({})],
  ])("%s prints the operation's value as it is, and nothing else", async (_command, run, ask) => {
    expect(await runJson(run)).toMatchObject({ data: await ask(api), stderr: "", exit: 0 });
  });

  test("tables have a row for each item, and the totals stand on stderr beside every format of rows", async () => {
    expect((await printed((io) => marketDepth.run({ id }, api, io))).lines).toHaveLength(21);
    expect((await printed((io) => risk.run({}, api, io))).lines).toHaveLength(2);
    for (const format of ["table", "csv", "tsv", "ndjson", "markdown"] as const) {
      const house = await printed((io) => reportHouse.run({}, api, io), format);
      expect(house.stderr).toBe("30 days: fees 0.25, market making 0.00.\n");
      if (format === "table") expect(house.lines[1]).toMatch(/^weather\s+0\.25\s+25\.00\s+1\.0 %$/);
      const traders = await printed((io) => reportTraders.run({ periodDays: 7 }, api, io), format);
      expect(traders.stderr).toMatch(/^7 days: 1 trader, 1 trade, volume 25\.00, P&L at current prices /);
    }
    const funding = await printed((io) => reportFunding.run({}, api, io));
    expect(funding.lines.at(-1)).toMatch(/^via payments\s+in 100\.00, out 0\.00$/);
  });

  test("people are shown what selling now pays, the data hold the result by the price too", async () => {
    // Of the 24.75 that came out of the market's fee, a sale brings as much and pays 0.2475 of it.
    const list: Run = (io) => positionList.run({}, door.api("usr_1"), io);
    const positions = await printed(list);
    expect(positions.lines[0]).toMatch(/SELL VALUE\s+SELL P&L$/);
    expect(positions.lines[1]).toMatch(/\s24\.50\s+-0\.50$/);
    const traders = await printed((io) => reportTraders.run({}, api, io));
    expect(traders.lines[0]).toMatch(/SELL P&L\s+P&L$/);
    // The total is that of the data, which counts positions at the price.
    const [{ totalPnl = Number.NaN } = {}] = (await api.getTradersReport({})).traders;
    expect(traders.lines[1]).toMatch(/\s-0\.50\s+\S+$/);
    expect(traders.lines[1]?.endsWith(` ${totalPnl.toFixed(2)}`)).toBe(true);
    const portfolio = await printed((io) => userPortfolio.run({ id: "usr_1" }, api, io));
    expect(portfolio.lines.join("\n")).toMatch(/sells for 24\.50\d* \(-0\.49\d*\)/);
    expect((await printed(list, "csv")).lines[0]).toContain("currentPrice,unrealizedPnl,sellValue,sellPnl");
  });
});
