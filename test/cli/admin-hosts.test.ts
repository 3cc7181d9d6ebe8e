import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { withServer } from "../support/tenant-text.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  const names = "hosts: ['*.acme.example', localhost], adminHosts: [admin.acme.example, localhost]";
  await operator.edit("acme", (text) => withServer(text, `port: 0, opsPort: 0, ${names}`));
  expect((await operator.run("apply", "acme")).exitCode).toBe(0);
});
afterAll(() => operator.close());

describe("a server whose admin operations have names of their own", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await operator.serve("acme");
  });

  const keys = (...words: string[]) => operator.run("key", "list", "-o", "json", ...words);

  test("serves the commands of its directory by either door alike", async () => {
    const direct = await keys("--via", "db");
    expect(direct.exitCode).toBe(0);
    const found = await keys("--via", "http");
    expect(found).toMatchObject({ exitCode: 0, stderr: "" });
    const names = (stdout: string) => (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
    expect(names(found.stdout)).toEqual(names(direct.stdout));
  });

  test("is asked under the name of --url", async () => {
    expect((await keys("--url", server.url)).exitCode).toBe(5);
    expect((await keys("--url", server.url.replace("127.0.0.1", "localhost"))).exitCode).toBe(0);
  });
});
