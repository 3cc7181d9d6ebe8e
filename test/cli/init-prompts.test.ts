import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runInit } from "../../src/cli/config/init.ts";
import { Interrupts } from "../../src/cli/input/interrupts.ts";
import { end, testIo } from "./support/io.ts";
import { pmctlHere } from "./support/pmctl.ts";

const home = process.cwd();
let directory = "";
beforeEach(async () => {
  directory = await mkdtemp("/tmp/pmctl-init-");
  process.chdir(directory);
});
afterEach(async () => {
  process.chdir(home);
  await rm(directory, { recursive: true, force: true });
});

type Options = Partial<Parameters<typeof runInit>[0]["options"]>;

async function init(answers: (string | null)[] | undefined, options: Options = {}, args: string[] = []) {
  const io = testIo(answers ? { answers, terminal: 80 } : {});
  const context = {
    options: { via: "auto", input: true, pager: false, color: false, ...options },
    args,
    io,
    interrupts: new Interrupts(),
  } as const;
  return { ...(await end(io, () => runInit(context))), questions: io.questions };
}

const tenantFile = () => readFileSync(join(directory, "tenants/acme/tenant.yaml"), "utf8");

describe("on a terminal", () => {
  test("asks for what no option says, and writes what was answered", async () => {
    const { exit, questions } = await init(["acme", "https://predict.acme.com", "full", "github"]);
    expect(exit).toBe(0);
    expect(questions).toHaveLength(4);
    expect(tenantFile()).toContain("baseUrl: https://predict.acme.com ");
    expect(tenantFile()).toContain("rateLimit:");
    expect(existsSync(join(directory, ".github/workflows/pmctl-acme.yml"))).toBe(true);
  });

  test("does not ask what options have said, nor anything with --yes", async () => {
    const { questions } = await init(["minimal"], { ci: "none", baseUrl: "http://localhost:8080" }, ["acme"]);
    expect(questions).toHaveLength(1);
    const again = await init([], { yes: true }, ["zeta"]);
    expect(again).toMatchObject({ exit: 0, questions: [] });
  });

  test("of a tenant that is there asks nothing and says so first; its id is no answer for a new one", async () => {
    await init([], { yes: true }, ["acme"]);
    const before = tenantFile();
    const { exit, questions, stdout, stderr } = await init([], {}, ["acme"]);
    expect({ exit, questions }).toEqual({ exit: 0, questions: [] });
    expect(stderr).toMatch(/^acme exists already/);
    expect(stdout).toContain("kept");
    expect(tenantFile()).toBe(before);
    expect((await init(["acme"])).stderr).toContain("acme exists already");
  });

  test("Ctrl-C at any question writes nothing", async () => {
    const { exit } = await init(["acme", "", null]);
    expect(exit).toBe(130);
    expect(existsSync(join(directory, "tenants"))).toBe(false);
  });

  test("an empty answer takes what was shown", async () => {
    expect((await init(["acme", "", "minimal", "none"])).exit).toBe(0);
    expect(tenantFile()).toContain("baseUrl: https://predict.acme.example");
  });
});

describe("without a terminal", () => {
  test("asks nothing and needs only the tenant's id", async () => {
    const { code, stdout, stderr } = await pmctlHere(["init", "acme", "--ci", "gitlab"], { cwd: directory });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).created).toContain(".gitlab-ci.yml");
    expect(stderr).toContain("pmctl apply acme");
    expect(stderr).toContain("package.json");
  });

  test("ends with 6 when the id is missing, and says what to type", async () => {
    const { code, stderr } = await pmctlHere(["init"], { cwd: directory });
    expect(code).toBe(6);
    expect(stderr).toContain("pmctl init acme");
  });
});

describe("--update", () => {
  const workflow = () => join(directory, ".github/workflows/pmctl-acme.yml");

  test("shows how a workflow that is there differs, and writes it anew after a yes", async () => {
    await init([], { yes: true, ci: "github" }, ["acme"]);
    const current = readFileSync(workflow(), "utf8");
    expect(await init(undefined, { update: true }, ["acme"])).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining("kept"),
    });
    const former = current.replaceAll("npx --no-install pmctl", "npx pmctl");
    writeFileSync(workflow(), former);
    const refused = await init(["no"], { update: true }, ["acme"]);
    expect(refused).toMatchObject({ exit: 3 });
    expect(refused.stderr).toMatch(
      /^- +- run: npx pmctl validate -- acme\n\+ +- run: npx --no-install pmctl validate -- acme$/m,
    );
    expect(readFileSync(workflow(), "utf8")).toBe(former);
    expect(await init(undefined, { update: true }, ["acme"])).toMatchObject({ exit: 6 });
    expect(await init(undefined, { update: true, yes: true }, ["acme"])).toMatchObject({ exit: 0 });
    expect(readFileSync(workflow(), "utf8")).toBe(current);
  });

  test("of a directory without a workflow is refused", async () => {
    await init([], { yes: true }, ["acme"]);
    expect(await init(undefined, { update: true, yes: true }, ["acme"])).toMatchObject({ exit: 5 });
  });
});
