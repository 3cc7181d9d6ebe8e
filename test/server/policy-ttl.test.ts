import { expect, test } from "vitest";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const tenant = tenantOfTests();

const put = (feeBps: number, ttl?: string) =>
  fetch(`${tenant.url}/v1/policy`, {
    method: "PUT",
    body: JSON.stringify({ feeBps }),
    headers: {
      "x-api-key": ADMIN_KEY,
      "content-type": "application/json",
      ...(ttl === undefined ? {} : { "policy-ttl": ttl }),
    },
  });
const feeBps = async () => {
  const response = await fetch(`${tenant.url}/v1/policy`, { headers: { "x-api-key": ADMIN_KEY } });
  return ((await response.json()) as { feeBps: number }).feeBps;
};

test("Policy-Ttl makes a change that goes back by itself", async () => {
  const before = await feeBps();
  const answer = await put(before + 7, "1");
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ feeBps: before + 7 });
  while ((await feeBps()) !== before) await new Promise((resolve) => setTimeout(resolve, 50));
});

test("a change for good ends the override of its field", async () => {
  expect((await put(31, "3600")).status).toBe(200);
  expect((await put(32)).status).toBe(200);
  expect(await feeBps()).toBe(32);
});

test.each(["", "0", "-1", "1.5", "2h", "2592001", "1, 2"])("Policy-Ttl %j is 400 and changes nothing", async (ttl) => {
  const before = await feeBps();
  await expectRefusal(await put(before + 1, ttl), 400, "BAD_REQUEST");
  expect(await feeBps()).toBe(before);
});
