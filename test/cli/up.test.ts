import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { nurseryMb } from "../../src/app/serve/heap.ts";
import { completeProgram } from "../../src/cli/program.ts";
import type { Served } from "../../src/cli/serve/serve.ts";
import { serveArguments } from "../../src/cli/serve/up.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { withServer } from "../support/tenant-text.ts";
import { MAIN } from "./support/pmctl.ts";

/** `pmctl up` as a process, with what it wrote. */
interface Up {
  child: ChildProcess;
  served: Served[];
  errors: () => string;
  until(isSo: () => boolean): Promise<void>;
}

let operator: Operator;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  operator = await newOperator();
  for (const tenant of ["acme", "zeta"]) {
    await operator.run("init", tenant);
    await operator.edit(tenant, (text) => withServer(text));
  }
  await operator.edit("zeta", (text) => text.replace("opsPort: 0 }", "opsPort: 0, memoryMb: 256 }"));
  await operator.run("init", "broken");
  await operator.edit("broken", (text) => text.replace("version: 1", "version: 2"));
  for (const tenant of ["acme", "zeta"]) expect((await operator.run("apply", tenant)).exitCode).toBe(0);
});
afterEach(async () => {
  for (const child of children) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
});
afterAll(() => operator.close());

function up(...args: string[]): Up {
  const child = spawn(process.execPath, [MAIN, "up", operator.directory, "-o", "ndjson", ...args], {
    cwd: "/tmp",
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  const served: Served[] = [];
  let errors = "";
  createInterface(child.stdout).on("line", (line) => served.push(JSON.parse(line)));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  return {
    child,
    served,
    errors: () => errors,
    async until(isSo) {
      for (let waited = 0; !isSo(); waited += 50) {
        if (waited > 120_000) throw new Error(`up did not get there: ${JSON.stringify(served)} ${errors}`);
        await delay(50);
      }
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that ended and was not fetched yet is no server any more.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Whether a server took its socket away, as one does that finished; one that was killed could not. */
function isTidy(...servers: Served[]): boolean {
  const names = readdirSync(`${operator.directory}/.pmctl/servers`);
  return servers.every(({ tenant, pid }) => !names.some((name) => name.startsWith(`${tenant}.${pid}-`)));
}

describe("pmctl up", () => {
  test("serves every tenant; one that fails is tried again and stops no other; a killed one comes back; SIGTERM ends all", async () => {
    const { child, served, errors, until } = up();
    await until(() => served.length >= 2 && errors().includes("the server of broken ended"));
    expect(served.map(({ tenant }) => tenant).toSorted()).toEqual(["acme", "zeta"]);
    expect(errors()).toMatch(/^broken \| .*tenant\.yaml:\d+:\d+ {2}version/m);
    for (const { tenant, opsUrl } of served)
      expect(await (await fetch(`${opsUrl}/livez`)).json()).toEqual({ ok: true, tenant });

    const warning = expect.stringContaining("synchronous standby");
    for (const server of served) {
      expect(server).toMatchObject({ survives: "crash", warnings: [warning] });
      expect(errors()).toContain(`| ${server.warnings[0]}`);
    }

    for (const [tenant, memoryMb] of Object.entries({ acme: 400, zeta: 256 })) {
      const { pid } = served.find((each) => each.tenant === tenant) as Served;
      const nursery = `--max-semi-space-size=${nurseryMb(memoryMb, totalmem())}`;
      expect(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")).toContain(nursery);
    }

    const [first, second] = served as [Served, Served];
    process.kill(first.pid, "SIGKILL");
    await until(() => served.length === 3);
    const back = served[2] as Served;
    expect(back.tenant).toBe(first.tenant);
    expect(back.pid).not.toBe(first.pid);
    expect(errors()).toContain(`the server of ${first.tenant} ended (SIGKILL); starting it again in 0.5 s`);
    expect(await (await fetch(`${back.opsUrl}/readyz`)).json()).toMatchObject({ ok: true });
    expect(isAlive(second.pid)).toBe(true);

    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect([first, second, back].filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(isTidy(second, back)).toBe(true);
  });

  test("leaves no server behind when it is itself killed without warning", async () => {
    const { child, served, until } = up("-t", "acme");
    await until(() => served.length === 1);
    const server = served[0] as Served;
    child.kill("SIGKILL");
    await until(() => !isAlive(server.pid));
    expect(isTidy(server)).toBe(true);
  });

  test("a directory without tenants is bad usage", async () => {
    const { exitCode, stderr } = await operator.run("up", "/tmp/pmctl-nothing-here");
    expect(exitCode).toBe(6);
    expect(stderr).toContain("There are no tenants in /tmp/pmctl-nothing-here");
  });
});

test("options of --shared need it", async () => {
  const alone = await operator.run("up", operator.directory, "--port", "0");
  expect(alone).toMatchObject({ exitCode: 6, stderr: expect.stringContaining("--port needs --shared") });
});

test("up takes no --open and no --qr: it would open a browser for every tenant", async () => {
  const up = (await completeProgram()).commands.find((command) => command.name() === "up");
  const flags = up?.options.map(({ long }) => long);
  expect(flags).toContain("--https");
  for (const flag of ["--open", "--qr"]) expect(flags).not.toContain(flag);
});

test("every option of serve but the ports is handed on, as it was given", () => {
  const given = (...args: string[]) => {
    const serve = new Command("serve").option("--host <address>").option("--https").option("--no-sweep");
    return serveArguments(serve.parse(args, { from: "user" }).opts(), serve.options);
  };
  expect(given()).toEqual([]);
  expect(given("--no-sweep", "--host", "::1", "--https")).toEqual(["--host", "::1", "--https", "--no-sweep"]);
});
