import { expect, test } from "vitest";
import { readStandardInput } from "../../src/cli/input/standard-input.ts";
import { marketInput } from "../../src/cli/market/market-input.ts";
import { pmctl } from "./support/pmctl.ts";

const MARKET = `key: rain
question: Will it rain?
category: weather
kind: lmsr
p0: 0.4
closeAt: 2096-06-01T00:00:00Z
resolutionRef: the press
`;

async function* pieces(...parts: Uint8Array[]) {
  yield* parts;
}

test("a market on the standard input is read as one in a file, wherever its bytes are cut", async () => {
  const bytes = Buffer.from(MARKET.replace("rain?", "regnen in Zürich?"));
  const cut = bytes.indexOf("ü") + 1;
  const text = await readStandardInput(pieces(bytes.subarray(0, cut), bytes.subarray(cut)));
  expect(marketInput({ file: "-" }, text)).toMatchObject({ key: "rain", question: "Will it regnen in Zürich?" });
  expect(() => marketInput({ file: "-", key: "wet" }, text)).toThrow("leave out --key");
});

test("what is wrong with the standard input is told with its place, and ends with 6", async () => {
  const { code, stdout, stderr } = await pmctl(["market", "create", "-f", "-"], {
    cwd: "/tmp",
    input: MARKET.replace("0.4", "4"),
  });
  expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
  expect(stderr).toContain("standard input:5:5");
});

test("a standard input that is too long, empty or no text is refused by that name", async () => {
  const half = Buffer.alloc(600 * 1024, "x");
  await expect(readStandardInput(pieces(half, half))).rejects.toThrow(/standard input.* is larger than 1 MiB/);
  await expect(readStandardInput(pieces(Buffer.from([0xff])))).rejects.toThrow(/standard input.* is not UTF-8 text/);
  expect(() => marketInput({ file: "-" }, "")).toThrow(/standard input.* is empty/);
});
