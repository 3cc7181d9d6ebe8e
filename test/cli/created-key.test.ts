import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { newOperator, type Operator } from "../support/operator.ts";

const GUIDE = readFileSync(new URL("../../docs/guides/operator.md", import.meta.url), "utf8");

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.run("apply", "acme");
});
afterAll(() => operator?.close());

/** The words of the guide's line that begins like this; its network is not this machine's. */
function lineOf(beginning: string): string[] {
  const line = GUIDE.split("\n").find((each) => each.startsWith(`pmctl ${beginning}`));
  return (line ?? "").replace("10.0.0.0/8", "127.0.0.0/8").split(" ").slice(1);
}

test("a key that `key create` made is used as the operator's guide says: its value in a variable, its name in the file, then --key", async () => {
  const server = await operator.serve("acme");
  const created = await operator.run(...lineOf("key create --name desk"), "-o", "json");
  expect(created).toMatchObject({ exitCode: 0 });
  const [, block = ""] = /```yaml\n(keys:\n {2}admin:\n[^`]*)```/.exec(GUIDE) ?? [];
  const [ops, desk] = parse(block).keys.admin;
  expect([ops.secret, desk.secret]).toEqual([{ env: "ACME_ADMIN_KEY" }, { env: "ACME_DESK_KEY" }]);
  await operator.edit("acme", (text) =>
    text.replace(
      /^ {2}admin: \[(.*)\]/m,
      (_, first) => `  admin: [${first}, ${JSON.stringify({ ...desk, from: ["127.0.0.0/8"] })}]`,
    ),
  );
  appendFileSync(join(operator.directory, ".env"), `ACME_DESK_KEY=${JSON.parse(created.stdout).key}\n`);
  expect(await operator.run(...lineOf("market list --key desk"))).toMatchObject({ exitCode: 0, stderr: "" });
  // The file's key is the live one; only the reference to its secret is new.
  expect(await operator.run("apply", "acme", "--accept-loosening", "--yes")).toMatchObject({ exitCode: 0 });
  expect(await operator.run("plan", "acme")).toMatchObject({ exitCode: 0 });
  expect(
    await operator.run("user", "restrict", "ann", "--reason", "x", "--yes", "--key", "desk", "--via", "http"),
  ).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining("needs the scope users"),
  });
  await server.kill("SIGTERM");
});
