import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fundingList, fundingReject } from "../../src/cli/commands/funding.ts";
import { reportFunding } from "../../src/cli/commands/report.ts";
import { userShow } from "../../src/cli/commands/user.ts";
import { FORMATS, type Format } from "../../src/cli/output/serialise.ts";
import { decimalFromMicro } from "../../src/domain/money.ts";
import { runs } from "../domain/random.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { end, type Run, testIo } from "./support/io.ts";

const ALL = 2n ** 63n - 1n;
const formats = FORMATS.filter((format): format is Format => format !== "github" && format !== "sarif");
const anySum = fc.oneof(
  fc.constantFrom(ALL, 49_999_999_998_999_999n, 2n ** 33n * 1_000_000n + 1n, 9_007_199_254_740_993_000_000n / 1000n),
  fc.bigInt({ min: 1n, max: ALL }),
  fc
    .integer({ min: 0, max: 62 })
    .chain((bits) => fc.bigInt({ min: 2n ** BigInt(bits), max: 2n ** BigInt(bits + 1) - 1n })),
);

/** The decimals in what a command prints, without the zeros that tables put behind them. */
const decimalsIn = (text: string) =>
  new Set(
    [...text.matchAll(/\d+(?:\.\d+)?/g)].map(([number]) => number.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")),
  );

describe.each(doors)("sums through the %s door", (_name, open) => {
  let door: TestDoor;
  beforeAll(async () => {
    door = await open();
  });
  afterAll(() => door.close());

  async function expectPrinted(run: Run, ...sums: bigint[]): Promise<void> {
    for (const format of formats) {
      const io = testIo({ format });
      const { exit, stdout, stderr } = await end(io, () => run(io));
      expect({ exit, stderr }, format).toEqual({ exit: 0, stderr: "" });
      const decimals = decimalsIn(stdout);
      for (const sum of sums.map(decimalFromMicro)) expect(decimals, `${format}: ${stdout}`).toContain(sum);
    }
  }

  test("a user's balance, a withdrawal and the report of all are printed to the last of six decimals in every format", async () => {
    const api = door.api();
    let [count, inMicro] = [0, 0n];
    const submit = (command: Parameters<typeof door.services.sequencer.submit>[0]["command"]) =>
      door.services.sequencer.submit({ command, actor: "provider:payments" });
    await fc.assert(
      fc.asyncProperty(anySum, async (amountMicro) => {
        // A provider's account takes no more than one sum of the largest.
        const [traderId, id, provider] = [`usr_${++count}`, `wdr_${count}`, `bank-${count}`];
        await submit({ type: "recordDeposit", provider, traderId, amountMicro, reference: `tx_${count}` });
        inMicro += amountMicro;
        await expectPrinted((io) => userShow.run({ id: traderId }, api, io), amountMicro);
        await submit({ type: "requestWithdrawal", id, traderId, amountMicro });
        await expectPrinted((io) => fundingList.run({ status: "pending" }, api, io), amountMicro);
        await expectPrinted((io) => userShow.run({ id: traderId }, api, io), amountMicro);
        await expectPrinted((io) => reportFunding.run({}, api, io), inMicro, amountMicro);
        const io = testIo({ format: "json" });
        const { stdout } = await end(io, () => fundingReject.run({ id }, api, io));
        expect(decimalsIn(stdout)).toContain(decimalFromMicro(amountMicro));
      }),
      { ...runs(8), endOnFailure: true },
    );
  });
});
