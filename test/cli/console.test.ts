import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConsoleClient } from "../server/support/console.ts";
import { makePair } from "../support/certificates.ts";
import { newOperator, type Operator } from "../support/operator.ts";

let operator: Operator;
let adminKey: string;
let written: string;
const fileOf = () => join(operator.directory, "tenants/acme/tenant.yaml");

beforeAll(async () => {
  operator = await newOperator();
  for (const args of [
    ["init", "acme", "--yes"],
    ["apply", "acme", "--yes"],
  ])
    expect(await operator.run(...args)).toMatchObject({ exitCode: 0 });
  adminKey = (await operator.secrets()).ACME_ADMIN_KEY ?? "";
  written = await readFile(fileOf(), "utf8");
}, 120_000);
afterAll(() => operator.close());

/** Gives the tenant file this section `server.console`. */
const state = (section: string) =>
  writeFile(fileOf(), written.replace(/^server: \{/m, `server: { console: ${section},`));

async function find(...args: string[]) {
  const { exitCode, stdout, stderr } = await operator.run("console", ...args, "-o", "json");
  return { exitCode, ...(JSON.parse(exitCode === 0 ? stdout : stderr) as Record<string, unknown>) };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("without a server the command ends with 9, and with 7 where the file turns the console off", async () => {
  expect(await find("acme")).toMatchObject({ exitCode: 9, code: "UNREACHABLE" });
  expect(await find("nobody")).toMatchObject({ exitCode: 5 });
  expect(await find("acme", "--via", "db")).toMatchObject({ exitCode: 6, code: "USAGE" });
  await state("false");
  expect(await find("acme")).toMatchObject({ exitCode: 7, code: "CONSOLE_OFF" });
  await writeFile(fileOf(), written);
});

test("the printed address has no credential, an admin key signs in there, and --open gives it to the desktop's opener", async () => {
  const server = await operator.serve("acme");
  const printed = await find();
  expect(printed).toEqual({ exitCode: 0, tenant: "acme", url: `${server.opsUrl}/console/` });
  const client = new ConsoleClient(server.opsUrl);
  expect(await client.signIn(adminKey)).toMatchObject({ status: 200, body: { tenant: "acme", actor: "admin:ops" } });
  expect((await client.get("/console/api/v1/policy")).status).toBe(200);

  // Not beside the tenant: what lies in memory cannot be executed everywhere.
  const programs = await mkdtemp(join(tmpdir(), "pmctl-programs-"));
  const opened = join(operator.directory, "opened");
  for (const name of ["open", "xdg-open"]) {
    await writeFile(
      join(programs, name),
      `#!/bin/sh\necho "$#:$*" > ${opened}.new && /bin/mv ${opened}.new ${opened}\n`,
    );
    await chmod(join(programs, name), 0o755);
  }
  expect(await operator.runWith({ PATH: programs }, "console", "acme", "--open")).toMatchObject({
    exitCode: 0,
    stdout: `${server.opsUrl}/console/`,
    stderr: "",
  });
  await expect.poll(() => readFile(opened, "utf8").catch(() => "")).toBe(`1:${server.opsUrl}/console/\n`);
  await rm(programs, { recursive: true });
  const none = await operator.runWith({ PATH: "/nowhere" }, "console", "acme", "--open");
  const note = `No browser could be opened here: open ${server.opsUrl}/console/ yourself`;
  expect(none).toMatchObject({ exitCode: 0, stdout: `${server.opsUrl}/console/`, stderr: note });
  expect(await server.kill("SIGTERM")).toBe(0);
});

test("a server whose file turns the console off has no such path, and the command ends with 7", async () => {
  await state("false");
  const server = await operator.serve("acme");
  expect(await find("acme")).toMatchObject({ exitCode: 7, code: "CONSOLE_OFF" });
  for (const url of [server.url, server.opsUrl])
    expect(await new ConsoleClient(url).get("/console/")).toMatchObject({ status: 404, body: { error: "Not found" } });
  expect(await server.kill("SIGTERM")).toBe(0);
});

test("a listener of its own speaks TLS with its certificate, and shows a renewed one", async () => {
  const [port, pair] = [await freePort(), await makePair()];
  const folder = join(operator.directory, "tenants/acme/tls");
  await mkdir(folder);
  const place = async ({ cert, key }: typeof pair) => {
    await writeFile(join(folder, "desk.key"), key, { mode: 0o600 });
    await writeFile(join(folder, "desk.crt"), cert);
  };
  await place(pair);
  const tls = "tls: { cert: tls/desk.crt, key: { file: tls/desk.key } }";
  await state(`{ port: ${port}, ${tls} }`);
  const server = await operator.serve("acme");
  expect(await find("acme")).toEqual({ exitCode: 0, tenant: "acme", url: `https://127.0.0.1:${port}/console/` });
  const client = new ConsoleClient(`https://127.0.0.1:${port}`, "", pair.cert);
  expect((await client.signIn(adminKey)).status).toBe(200);
  expect((await new ConsoleClient(server.opsUrl).get("/console/")).status).toBe(404);
  const renewed = await makePair();
  await place(renewed);
  const again = new ConsoleClient(`https://127.0.0.1:${port}`, "", renewed.cert);
  again.cookie = client.cookie;
  await expect
    .poll(async () => (await again.get("/console/session").catch(() => ({ status: 0 }))).status, { timeout: 20_000 })
    .toBe(200);
  expect(await server.kill("SIGTERM")).toBe(0);

  await state(`{ host: 0.0.0.0, ${tls} }`);
  expect(await operator.run("validate", "acme")).toMatchObject({ exitCode: 6 });
});
