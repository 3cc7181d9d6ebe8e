import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";

const address = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

let operator: Operator;
/** Programs that stand in for a desktop's, and what the browser was asked to open. */
let [programs, opened] = ["", ""];

beforeAll(async () => {
  operator = await newOperator();
  // Not beside the tenant: what lies in memory cannot be executed everywhere.
  programs = await mkdtemp(join(tmpdir(), "pmctl-programs-"));
  opened = join(operator.directory, "opened");
  for (const args of [
    ["init", "acme", "--yes"],
    ["apply", "acme", "--yes"],
  ]) {
    const { exitCode, stderr } = await operator.run(...args);
    expect([stderr, exitCode]).toEqual([stderr, 0]);
  }
}, 120_000);
afterAll(async () => {
  await rm(programs, { recursive: true, force: true });
  await operator.close();
});

/** Puts a script in the place of the desktop's program, or none. */
async function browser(script: string | undefined): Promise<void> {
  for (const name of ["open", "xdg-open"]) {
    const file = join(programs, name);
    await rm(file, { force: true });
    if (script === undefined) continue;
    await writeFile(file, `#!/bin/sh\n${script}\n`);
    await chmod(file, 0o755);
  }
}

async function serving(flags: string[], work: (server: ServerProcess) => Promise<void>): Promise<void> {
  const { PATH } = process.env;
  process.env.PATH = programs;
  const server = await operator.serve("acme", ...flags).finally(() => {
    process.env.PATH = PATH;
  });
  try {
    await work(server);
  } finally {
    expect(await server.kill("SIGTERM")).toBe(0);
  }
}

describe("serve --open and --qr", () => {
  test("open the widget's page, whose address holds nothing but where it is, and say that a phone cannot reach a loopback", async () => {
    await browser(`echo "$@" > ${opened}.new && /bin/mv ${opened}.new ${opened}`);
    await serving(["--open", "--qr"], async ({ url, errors }) => {
      await expect.poll(() => readFile(opened, "utf8").catch(() => "")).toBe(`${url}/embed/markets\n`);
      expect((await fetch(`${url}/embed/markets`)).status).toBe(200);
      await expect
        .poll(errors)
        .toContain(
          "A phone cannot reach this server, which listens on 127.0.0.1 alone. With --host 0.0.0.0 it listens on the network too",
        );
      expect(errors()).not.toContain("browser");
    });
  });

  test.each([
    ["there is none", undefined],
    ["it fails, as it does without a display", "exit 3"],
  ])(
    "say so when no browser opens because %s, serve, and draw an address in the network on stderr",
    async (_why, script) => {
      await browser(script);
      await serving(["--open", "--qr", "--host", "0.0.0.0"], async ({ url, errors }) => {
        await expect.poll(errors).toMatch(/No browser could be opened here: open \S+ yourself/);
        expect((await fetch(`${url}/health`)).status).toBe(200);
        if (address === undefined) return;
        const shown = `http://${address}:${new URL(url).port}/embed/markets`;
        await expect.poll(errors).toContain(shown);
        expect(errors()).toMatch(/[▀▄█]{7}/);
        expect((await fetch(shown)).status).toBe(200);
      });
    },
  );
});
