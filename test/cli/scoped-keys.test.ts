import { appendFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ended, inProcess } from "../support/in-process.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { withRateLimit, withServer } from "../support/tenant-text.ts";

const VALUES = {
  ACME_READ_KEY: `sk_${"r".repeat(43)}`,
  ACME_CONFIG_KEY: `sk_${"c".repeat(43)}`,
  ACME_BUILD_KEY: `sk_${"b".repeat(43)}`,
  ACME_FAR_KEY: `sk_${"f".repeat(43)}`,
};
const OWN_KEYS = `
    - { name: ci, secret: { env: ACME_READ_KEY }, scopes: [read] }
    - { name: deploy, secret: { env: ACME_CONFIG_KEY }, scopes: [read, config] }
    - { name: builder, secret: { env: ACME_BUILD_KEY }, scopes: [read, markets, funds, config] }
    - { name: far, secret: { env: ACME_FAR_KEY }, from: [192.0.2.0/24] }`;

let operator: Operator;
let url: string;
/** A pipeline's directory: the tenant's files, no `.env`, no database. */
let pipeline: string;
const { PATH } = process.env;
const inPipeline = (env: Record<string, string>, ...args: string[]): Promise<Ended> =>
  inProcess([...args, "--url", url], { cwd: pipeline, env: { PATH, ...env } });
/** A job that holds one key and nothing else. */
const ci = (...args: string[]) => inPipeline({ ACME_READ_KEY: VALUES.ACME_READ_KEY }, ...args, "--key", "ci");
const here = (...args: string[]) => operator.run(...args);

beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) => {
    const own = text.replace(/admin: \[(.*)\] #.*/, `admin:\n    - $1${OWN_KEYS}`);
    return withServer(withRateLimit(own, 100_000));
  });
  const lines = Object.entries(VALUES).map(([name, value]) => `${name}=${value}\n`);
  await appendFile(join(operator.directory, ".env"), `\n${lines.join("")}`);
  const applied = await here("apply", "acme");
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  ({ url } = await operator.serve("acme"));
  pipeline = join(operator.directory, "pipeline");
  await mkdir(pipeline);
  await cp(join(operator.directory, "tenants"), join(pipeline, "tenants"), { recursive: true });
});
afterAll(() => operator?.close());

describe("a pipeline that holds a key of scope read and no other secret", () => {
  test("validates, plans, sees drift and reads the history", async () => {
    expect(await inProcess(["validate"], { cwd: pipeline, env: { PATH } })).toMatchObject({ code: 0 });
    const planned = await ci("plan", "--detailed-exitcode", "--accept-loosening");
    expect(planned, planned.stderr).toMatchObject({ code: 0 });
    const [plan] = JSON.parse(planned.stdout);
    expect(plan).toMatchObject({ tenant: "acme", empty: true, items: [] });
    expect(plan.warnings).toEqual([
      expect.stringMatching(/count as the live ones: keys\..*keys\.deploy, keys\.builder, keys\.far/),
    ]);
    expect(await ci("drift")).toMatchObject({ code: 0 });
    const history = await ci("history");
    expect(JSON.parse(history.stdout)).toHaveLength(1);
    expect(await ci("pull")).toMatchObject({ code: 0 });
    for (const words of [["market", "list"], ["key", "list"], ["reconcile"], ["audit", "status"], ["policy", "show"]])
      expect([words, (await ci(...words)).code]).toEqual([words, 0]);
  });

  test("sees what a changed file would do, marks included, also to keys whose values it does not hold", async () => {
    const file = join(pipeline, "tenants", "acme", "tenant.yaml");
    const text = await readFile(file, "utf8");
    const narrowed = text.replace("scopes: [read, config]", "scopes: [read]").replace("192.0.2.0/24", "0.0.0.0/0");
    await writeFile(
      file,
      narrowed.replace(/(\n {4}- \{ name: far)/, "\n    - { name: new, secret: { env: ACME_NEW } }$1"),
    );
    try {
      const planned = await ci("plan", "--detailed-exitcode", "--accept-loosening");
      expect(planned, planned.stderr).toMatchObject({ code: 2 });
      expect(JSON.parse(planned.stdout)[0].items).toMatchObject([
        {
          field: "keys.deploy",
          live: expect.stringMatching(/^admin fp:[0-9a-f]{8} scopes read,config$/),
          desired: expect.stringMatching(/^admin fp:[0-9a-f]{8} scopes read$/),
          mark: "TIGHTENS",
        },
        { field: "keys.new", live: null, mark: null },
        { field: "keys.far", mark: "LOOSENS" },
        { field: "secrets.env ACME_NEW", mark: "loosens" },
      ]);
    } finally {
      await writeFile(file, text);
    }
  });

  test("changes nothing: 4 and the scope that it lacks, or 6 for an apply, which needs the values", async () => {
    const set = await ci("policy", "set", "feeBps=1", "--yes");
    expect(set).toMatchObject({ code: 4, stderr: expect.stringContaining("the scope config") });
    expect(await ci("apply")).toMatchObject({ code: 6, stderr: expect.stringContaining("ACME_ADMIN_KEY") });
  });

  test("is told of a name that the file does not have, and of a value that it does not hold", async () => {
    const named = (name: string) => inPipeline({ ACME_READ_KEY: VALUES.ACME_READ_KEY }, "plan", "--key", name);
    expect(await named("cii")).toMatchObject({ code: 6, stderr: expect.stringContaining('did you mean "ci"?') });
    expect(await named("deploy")).toMatchObject({ code: 6, stderr: expect.stringContaining("ACME_CONFIG_KEY") });
    expect(await inPipeline({}, "plan")).toMatchObject({ code: 6, stderr: expect.stringContaining("ACME_ADMIN_KEY") });
  });
});

describe("a key of scope config", () => {
  test("applies limits, and no file that makes a key or widens one", async () => {
    const secrets = { ...(await operator.secrets()), ACME_NEW_KEY: `sk_${"n".repeat(43)}` };
    const deploy = (...words: string[]) => inPipeline(secrets, ...words, "--key", "deploy", "--accept-loosening");
    const file = join(pipeline, "tenants", "acme", "tenant.yaml");
    const text = await readFile(file, "utf8");
    const withFile = async (change: (text: string) => string) => {
      await writeFile(file, change(text));
      return deploy("apply");
    };
    const refused = { code: 4, stderr: expect.stringContaining("This needs the scope keys") };
    try {
      expect(
        await withFile((old) =>
          old.replace("    - { name: far", "    - { name: new, secret: { env: ACME_NEW_KEY } }\n    - { name: far"),
        ),
      ).toMatchObject(refused);
      expect(await withFile((old) => old.replace("scopes: [read, config]", "scopes: ['*']"))).toMatchObject(refused);
      expect(await withFile((old) => old.replace("from: [192.0.2.0/24]", "from: []"))).toMatchObject(refused);
      expect(await withFile((old) => old.replace(/.*name: far.*\n/, ""))).toMatchObject(refused);
      const limited = await withFile((old) => old.replace(/maxTradeUsd: \d+/, "maxTradeUsd: 123"));
      expect(limited, limited.stderr).toMatchObject({ code: 0 });
      await writeFile(file, text);
      const [, first] = JSON.parse((await ci("history")).stdout);
      expect(await deploy("rollback", "--to", String(first.seq))).toMatchObject({ code: 0 });
    } finally {
      await writeFile(file, text);
    }
  });
});

describe("an apply that does the work of other scopes", () => {
  const MARKET = `key: rain
question: Will it rain?
category: weather
kind: lmsr
p0: 0.4
closeAt: 2096-01-01T00:00:00Z
resolutionRef: by hand
`;

  test("is refused with 4 and planned with a warning; with the scopes it is made", async () => {
    const secrets = await operator.secrets();
    const as = (key: string, ...words: string[]) => inPipeline(secrets, ...words, "--key", key);
    const file = join(pipeline, "tenants", "acme", "tenant.yaml");
    const text = await readFile(file, "utf8");
    const market = join(pipeline, "tenants", "acme", "markets", "rain.yaml");
    const warned = async (key: string) => {
      const { code, stdout, stderr } = await as(key, "plan");
      expect(code, stderr).toBe(0);
      const lines = JSON.parse(stdout)[0].warnings as string[];
      return lines.filter((line) => line.includes("lacks"));
    };
    const refused = (text: string) => ({ code: 4, stderr: expect.stringContaining(`needs the scope ${text}`) });
    expect(await warned("deploy")).toEqual([]);
    await writeFile(file, `${text}treasury: { capitalUsd: 200000 }\n`);
    await writeFile(market, MARKET);
    expect(await warned("deploy")).toEqual([
      "the key in use cannot apply all of this: it lacks markets (because it creates markets), funds (because it adds capital to the treasury)",
    ]);
    // A key that only plans is told nothing, and one that may do it neither.
    for (const key of ["ci", "ops", "builder"]) expect([key, await warned(key)]).toEqual([key, []]);
    expect(await as("deploy", "apply")).toMatchObject(refused("markets because it creates markets"));
    await writeFile(file, text);
    const made = await as("builder", "apply");
    expect(made, made.stderr).toMatchObject({ code: 0 });
    const [{ seq }] = JSON.parse((await ci("history")).stdout);
    await writeFile(market, `${MARKET}state: suspended\n`);
    expect(await as("deploy", "apply")).toMatchObject(refused("markets because it suspends or resumes markets"));
    expect(await as("builder", "apply")).toMatchObject({ code: 0 });
    // A rollback is an apply of another document, and asks for the same.
    const back = (key: string) => as(key, "rollback", "--to", String(seq), "--accept-loosening");
    expect(await back("deploy")).toMatchObject(refused("markets because it suspends or resumes markets"));
    expect(await back("builder")).toMatchObject({ code: 0 });
    await writeFile(market, MARKET);
    // What only writes the file asks for nothing but `read`.
    for (const words of [
      ["drift", "--write"],
      ["pull", "--write"],
    ])
      expect([words, await as("ci", ...words)]).toMatchObject([words, { code: 0 }]);
    await writeFile(file, `${text}treasury: { capitalUsd: 200000 }\n`);
    expect(await as("deploy", "apply")).toMatchObject(refused("funds because it adds capital"));
    expect(await as("builder", "apply")).toMatchObject({ code: 0 });
  });
});

describe("keys on the command line", () => {
  test("are created with scopes and networks, listed with both, and used by name", async () => {
    const words = ["key", "create", "desk", "--type", "admin", "--scopes", "settle,read"];
    const created = await here(...words, "--from", "10.0.0.0/8", "--from", "127.0.0.1", "-o", "json");
    expect(created.exitCode, created.stderr).toBe(0);
    const kept = { scopes: ["read", "settle"], from: ["10.0.0.0/8", "127.0.0.1/32"] };
    expect(JSON.parse(created.stdout)).toMatchObject({ name: "desk", ...kept });
    const keys = JSON.parse((await here("key", "list", "-o", "json")).stdout);
    expect(keys).toContainEqual(expect.objectContaining({ name: "desk", ...kept }));
    expect(keys).toContainEqual(expect.objectContaining({ name: "ci", scopes: ["read"], from: [] }));
    expect((await here("key", "list", "-o", "table")).stdout).toMatch(/SCOPES[\s\S]*read, config/);
  });

  test.each([
    ["an unknown scope", ["--scopes", "read,setle"], 'did you mean "settle"?'],
    ["no scope at all", ["--scopes", ""], "must be one of"],
    ["what is no network", ["--from", "10.0.0.0/33"], "address range"],
  ])("%s is refused with 6", async (_, words, text) => {
    const { exitCode, stderr } = await here("key", "create", "odd", "--type", "admin", ...words);
    expect([exitCode, stderr]).toEqual([6, expect.stringContaining(text)]);
  });

  test("straight to the database the file's owner may do everything, and is told so", async () => {
    const ended = await here("policy", "set", "feeBps=77", "--yes", "--via", "db", "--key", "ci");
    expect(ended).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("the key ci is not used") });
    expect(await here("key", "list", "--via", "db", "--key", "cii")).toMatchObject({ exitCode: 6 });
  });

  test("from elsewhere are refused with 4 where an address counts, and a named one falls back to no database", async () => {
    for (const words of [["plan"], ["key", "list"]]) {
      const ended = await here(...words, "--key", "far", "--url", url);
      expect([words, ended.exitCode, ended.stdout]).toEqual([words, 4, ""]);
    }
  });
});
