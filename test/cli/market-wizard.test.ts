import { afterAll, beforeAll, expect, test } from "vitest";
import { marketInput } from "../../src/cli/market/market-input.ts";
import { askMarket, confirmMarket } from "../../src/cli/market/market-wizard.ts";
import { Fault } from "../../src/domain/fault.ts";
import { wallClockMs } from "../../src/domain/time/clock.ts";
import { HOUR_MS } from "../../src/domain/time/units.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { testIo } from "./support/io.ts";
import { operatorDirectory, pmctlHere } from "./support/pmctl.ts";

const TENANT = {
  liquidityUsd: 1000,
  checkReference: (reference: string) => {
    if (reference.startsWith("pm:bct")) throw new Fault("USAGE", "there is no feed pm:bct");
  },
};
const [[, open]] = doors as [(typeof doors)[number]];
let door: TestDoor;
beforeAll(async () => {
  door = await open();
});
afterAll(() => door.close());

test("market create asks for all that a market needs; Enter takes what is shown", async () => {
  const io = testIo({ terminal: 80, answers: ["Will it rain?", "", "cpmm", "", "", "2h", "weather service", "rain"] });
  const flags = await askMarket({}, TENANT, io);
  expect(io.questions).toHaveLength(8);
  expect(flags).toMatchObject({
    ...{ question: "Will it rain?", category: "general", kind: "cpmm", p0: 0.5, liquidity: 1000 },
    ...{ resolutionRef: "weather service", key: "rain" },
  });
  expect(Math.abs(Date.parse(flags.closeAt ?? "") - wallClockMs() - 2 * HOUR_MS)).toBeLessThan(HOUR_MS / 10);
});

test("it asks for nothing that the line states, and takes no answer that the market could not have", async () => {
  const stated = { question: "Rain?", category: "x", kind: "lmsr", closeAt: "2030-01-01T00:00:00Z" } as const;
  const io = testIo({ terminal: 80, answers: ["0.25", "500", "judge", ""] });
  const flags = await askMarket(stated, TENANT, io);
  expect(flags).toEqual({ ...stated, p0: 0.25, liquidity: 500, resolutionRef: "judge" });
  const wrong = (answers: string[]) => askMarket(stated, TENANT, testIo({ terminal: 80, answers }));
  await expect(wrong(["1.5"])).rejects.toThrow("must be at most 0.999");
  await expect(wrong(["x"])).rejects.toThrow("It must be a number such as 0.35.");
  await expect(wrong(["0.5", "x"])).rejects.toThrow("It must be a number such as 1000.");
  await expect(wrong(["0.5", "500", "pm:bct > 5"])).rejects.toThrow("there is no feed pm:bct");
  await expect(wrong(["0.5", "500", "judge", "Not A Key"])).rejects.toThrow("must be lower-case letters");
});

test("it shows what the house may lose, and a no creates nothing", async () => {
  const input = marketInput({
    ...{ question: "Will it rain?", category: "weather", kind: "lmsr", p0: 0.4, key: "rain" },
    ...{ closeAt: "2030-01-01T00:00:00Z", resolutionRef: "weather service", liquidity: 500 },
  });
  const io = testIo({ terminal: 80, answers: [false] });
  await expect(confirmMarket(input, 1000, door.api(), io)).rejects.toThrow("Not confirmed: nothing was done");
  const { treasuryUsd } = await door.api().getConfig({});
  expect(io.stderr.text).toContain("the house loses the 500.00 USD that it puts in");
  expect(io.stderr.text).toContain(`${treasuryUsd.toFixed(2)} USD before, ${(treasuryUsd - 500).toFixed(2)} after`);
  expect(io.stdout.text).toBe("");
});

test("in a pipe nothing is asked: 6 names what is missing", async () => {
  const directory = await operatorDirectory({ cluster: "none" });
  const { code, stderr } = await pmctlHere(["market", "create", "--question", "Rain?"], directory);
  await directory.remove();
  expect({ code, stderr }).toEqual({
    code: 6,
    stderr: expect.stringContaining("--category, --kind, --p0, --close-at, --resolution-ref"),
  });
});
