import { expect, test } from "vitest";
import { auditSecurity } from "../../src/cli/audit/audit.ts";
import { userToken } from "../server/support/harness.ts";
import { ADMIN_KEY, openHttpDoor } from "./support/doors.ts";
import { end, testIo } from "./support/io.ts";

test("audit security shows what is wrong with refused user tokens, and says once for each what to do", async () => {
  const door = await openHttpDoor();
  for (const claims of [{ exp: undefined }, { sub: "" }, { exp: undefined }])
    await fetch(`${door.url}/v1/wallet`, {
      headers: { "x-api-key": ADMIN_KEY, authorization: `Bearer ${await userToken(claims)}` },
    });
  const run = async (io: ReturnType<typeof testIo>) =>
    end(io, () => auditSecurity.run({ event: "auth.failed" }, door.api(), io));
  const { exit, stdout, stderr } = await run(testIo({ terminal: 80, color: false }));
  expect(exit).toBe(0);
  expect(stdout).toMatch(/auth\.failed +token: exp-missing +2 /);
  expect(stdout).toMatch(/auth\.failed +token: sub-invalid +1 /);
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(stderr.split("exp-missing: exp is missing: set exp to at most 86400 seconds after iat")).toHaveLength(2);
  expect(stderr).toContain("sub-invalid: ");
  const json = await run(testIo({ format: "json" }));
  expect(
    JSON.parse(json.stdout)
      .entries.map(({ reason, detail }: Record<string, unknown>) => [reason, detail])
      .toSorted(),
  ).toEqual([
    ["token", "exp-missing"],
    ["token", "sub-invalid"],
  ]);
  expect(json.stderr).toBe("");
  await door.close();
});
