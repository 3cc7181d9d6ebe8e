import { expect, test } from "vitest";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const tenant = tenantOfTests();

const read = async () => {
  const response = await fetch(`${tenant.url}/v1/policy`, { headers: { "x-api-key": ADMIN_KEY } });
  return { tag: response.headers.get("etag") ?? "", policy: (await response.json()) as { feeBps: number } };
};
const put = (feeBps: number, ifMatch?: string) =>
  fetch(`${tenant.url}/v1/policy`, {
    method: "PUT",
    body: JSON.stringify({ feeBps }),
    headers: {
      "x-api-key": ADMIN_KEY,
      "content-type": "application/json",
      ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
    },
  });

test("a change that insists on what it read loses to one that came in between", async () => {
  const { tag } = await read();
  expect(tag).toMatch(/^"\d+"$/);
  const first = await put(10, tag);
  expect(first.status).toBe(200);
  expect(first.headers.get("etag")).toBe((await read()).tag);
  await expectRefusal(await put(20, tag), 400, "PRECONDITION_FAILED");
  expect((await read()).policy.feeBps).toBe(10);
  expect((await put(30, `"no", ${first.headers.get("etag")}`)).status).toBe(200);
});

test("of many changes on the same version exactly one is made", async () => {
  const { tag } = await read();
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => put(100 + n, tag)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(11).fill(400)]);
});

test.each(["", '"none"', "*weak", 'W/"1"', '"-1"', "1"])("the condition %j matches nothing", async (ifMatch) => {
  await expectRefusal(await put(1, ifMatch), 400, "PRECONDITION_FAILED");
});

test("a change without a condition, or on any version, is made", async () => {
  expect((await put(40)).status).toBe(200);
  expect((await put(41, "*")).status).toBe(200);
});
