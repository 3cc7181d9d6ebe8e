import { access, chmod, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorDirectory, pmctl, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

const SECRET = "a jwt secret of the tests, long enough";

let directory: TestDirectory;
let original: string;
beforeAll(async () => {
  directory = await operatorDirectory({ cluster: "none" });
  await pmctlHere(["init", "acme"], directory);
  original = await readFile(join(directory.cwd, "tenants/acme/tenant.yaml"), "utf8");
  await writeFile(join(directory.cwd, "tenants/acme/jwt"), `${SECRET}\n`);
});
afterAll(() => directory.remove());

/** Lets the JWT secret come from elsewhere, and asks for what takes it and nothing else. */
async function token(reference: string, args: string[] = [], env: Record<string, string> = {}) {
  await writeFile(
    join(directory.cwd, "tenants/acme/tenant.yaml"),
    original.replace("{ env: ACME_JWT_SECRET }", reference),
  );
  return pmctl(["user", "token", "alice", ...args], { ...directory, env });
}

test("a program is run with --allow-exec or PMCTL_ALLOW_EXEC=1 only; without, 6 names the flag and the place", async () => {
  const reference = "{ exec: [cat, jwt] }";
  const refused = await token(reference);
  expect(refused).toMatchObject({ code: 6, stdout: "" });
  expect(refused.stderr).toMatch(/--allow-exec .*\(tenants\/acme\/tenant\.yaml:\d+:\d+\)/);
  for (const [args, env] of [[["--allow-exec"]], [[], { PMCTL_ALLOW_EXEC: "1" }]] as const)
    expect(await token(reference, [...args], env)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ey/),
      stderr: "",
    });
});

test("a secret file that everybody may read gives one line on stderr, which --quiet takes away", async () => {
  const file = join(directory.cwd, "tenants/acme/jwt");
  await chmod(file, 0o644);
  expect(await token("{ file: jwt }")).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^pmctl: warning: the secret file jwt is readable for every user[^\n]*\n$/),
  });
  expect(await token("{ file: jwt }", ["--quiet"])).toMatchObject({ code: 0, stderr: "" });
  await chmod(file, 0o600);
  expect(await token("{ file: jwt }")).toMatchObject({ code: 0, stderr: "" });
});

test("a key rotates to a value of the shape that its place wants, by whatever door it is made", async () => {
  const made = await pmctlHere(["key", "rotate", "--type", "webhook", "-o", "json"], directory);
  expect(Buffer.byteLength((JSON.parse(made.stdout) as { key: string }).key)).toBeGreaterThanOrEqual(32);
});

test.each(["check", "sweep"])(
  "oracle %s reports a bad secret with its place, before it creates a database",
  async (verb) => {
    const fresh = await operatorDirectory({ cluster: "none" });
    try {
      await pmctlHere(["init", "acme"], fresh);
      const values = await readFile(join(fresh.cwd, ".env"), "utf8");
      const jwt = /^ACME_JWT_SECRET=(.*)$/m.exec(values)?.[1] ?? "";
      const place = String.raw`tenants\/acme\/tenant\.yaml:\d+:\d+`;
      for (const [audit, message] of [
        ["too short", "the secret must have at least 32 bytes"],
        [jwt, "has the same value as"],
      ]) {
        await writeFile(join(fresh.cwd, ".env"), values.replace(/^ACME_AUDIT_KEY=.*$/m, `ACME_AUDIT_KEY=${audit}`));
        const { code, stdout, stderr } = await pmctlHere(["oracle", verb], fresh);
        expect({ code, stdout, stderr }).toEqual({
          code: 6,
          stdout: "",
          stderr: expect.stringContaining(`${message}`),
        });
        expect(stderr).toMatch(new RegExp(place));
      }
      await expect(access(join(fresh.cwd, ".pmctl"))).rejects.toThrow("ENOENT");
    } finally {
      await fresh.remove();
    }
  },
);

test("validate warns of grants to a tenant without a file, and refuses nothing", async () => {
  const file = join(directory.cwd, "pmctl.yaml");
  await writeFile(join(directory.cwd, "tenants/acme/tenant.yaml"), original);
  await writeFile(file, "version: 1\ntenants:\n  acne: { env: [FEED] }\n");
  const validated = await pmctlHere(["validate"], directory);
  expect(validated).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/pmctl\.yaml:3:3 tenants\.acne: .*"acme"/),
  });
  await rm(file);
  expect((await pmctlHere(["validate"], directory)).stderr).not.toContain("pmctl.yaml");
});

describe("a tenant file that reaches for what is not its own", () => {
  const LISTS = 'version: 1\nsecrets: { env: ["BETA_*"], destinations: { "env BETA_ADMIN_KEY": ["127.0.0.1"] } }\n';
  const runner = ([word]: string[]) => (word === "serve" ? pmctl : pmctlHere);
  const CANARY = `sk_${"C".repeat(43)}`;
  let heard: string[];
  let url: string;
  const listener = createServer((request, response) => {
    heard.push(`${request.url} ${JSON.stringify(request.headers)}`);
    response.end("{}");
  });
  beforeAll(async () => {
    heard = [];
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    await pmctlHere(["init", "beta"], directory);
  });
  afterAll(() => {
    listener.close();
  });

  /** Every command that reads or sends for the file, with programs allowed, and what came of it. */
  async function attempts(reference: string, operator = "version: 1\n"): Promise<string[]> {
    const { cwd } = directory;
    const source = `{ url: "${url}/{id}", headers: { authorization: ${reference} }, price: { pointer: /p }, time: { pointer: /t, unit: s } }`;
    const oracle = `oracle: { sources: { house: ${source} }, venues: { acme: { x: { sources: [{ use: house, id: x }] } } } }`;
    const text = `${original}\nnetwork: { allowPrivate: [127.0.0.0/8] }\n${oracle}\ndatabase: { url: { exec: [touch, ran] } }\n`;
    await writeFile(join(cwd, "tenants/acme/tenant.yaml"), text);
    await writeFile(join(cwd, "pmctl.yaml"), operator);
    // The way to serve is that of the others, and takes a process of its own.
    const serve = operator === LISTS ? [["serve", "acme"]] : [];
    const commands = [
      ["validate", "acme"],
      ["plan", "acme"],
      ["apply", "acme"],
      ["oracle", "check", "-t", "acme"],
      ...serve,
    ];
    const texts: string[] = [];
    for (const words of commands) {
      const env = { BETA_ADMIN_KEY: CANARY, ACME_FEED_TOKEN: CANARY };
      const { code, stdout, stderr } = await runner(words)([...words, "--allow-exec", "-o", "json"], { cwd, env });
      expect([words[0], code]).toEqual([words[0], 6]);
      // Only validate prints what is wrong as data too.
      if (words[0] !== "validate") expect(stdout).toBe("");
      expect(stdout).not.toContain(CANARY);
      expect(stderr).toContain("CONFIG_INVALID");
      expect(stderr).not.toContain(CANARY);
      texts.push(stderr);
    }
    expect(heard).toEqual([]);
    await expect(access(join(cwd, "tenants/acme/ran"))).rejects.toThrow();
    return texts;
  }

  test.each([
    ["{ env: BETA_ADMIN_KEY }", "the variable BETA_ADMIN_KEY belongs to the tenant beta"],
    ["{ env: PATH }", "the variable PATH does not begin with ACME_"],
    ["{ file: /etc/hostname }", "leads out of the tenant's folder"],
    ["{ env: ACME_FEED_TOKEN }", "the secret would be sent to 127.0.0.1:"],
    ["{ exec: [touch, ran] }", "a secret that a program prints cannot be sent to a source"],
  ])(
    "%s is refused with its line by validate, plan, apply, serve and oracle check; nothing is run or sent",
    async (reference, complaint) => {
      for (const text of await attempts(reference)) {
        expect(text).toContain(complaint);
        expect(text).toMatch(/tenants\/acme\/tenant\.yaml:\d+:\d+/);
      }
    },
  );

  test("nor by a list of another tenant's variables, and a mistake in the list itself has its line", async () => {
    for (const text of await attempts("{ env: BETA_ADMIN_KEY }", LISTS))
      expect(text).toContain("belongs to the tenant beta");
    for (const text of await attempts("{ env: ACME_FEED_TOKEN }", "version: 1\nsecrets: { destination: {} }\n"))
      expect(text).toMatch(/pmctl\.yaml:2:12 {2}secrets\.destination {2}unknown key; did you mean \\"destinations\\"/);
  });

  test.each(["url", "ownerUrl"])(
    "a host beside the password in %s that the operator has not listed is refused before a command connects",
    async (key) => {
      const { cwd } = directory;
      const other = key === "url" ? "" : "url: { env: ACME_DATABASE_URL }, ";
      const parts = "{ hosts: [db.evil.example], user: app, name: acme, password: { env: ACME_DATABASE_PASSWORD } }";
      await writeFile(join(cwd, "tenants/acme/tenant.yaml"), `${original}\ndatabase: { ${other}${key}: ${parts} }\n`);
      await writeFile(join(cwd, "pmctl.yaml"), "version: 1\n");
      const env = { ACME_DATABASE_URL: "postgres://127.0.0.1:1/acme", ACME_DATABASE_PASSWORD: CANARY };
      for (const words of ["validate acme", "plan acme", "apply acme", "db migrate -t acme", "oracle check -t acme"]) {
        const { code, stderr } = await pmctlHere(words.split(" "), { cwd, env });
        expect([words, code]).toEqual([words, 6]);
        expect(stderr).toContain("the secret would be sent to db.evil.example:5432?sslmode=prefer");
        expect(stderr).not.toContain(CANARY);
      }
    },
  );

  test("a public key that is another secret is refused by validate too, which has it at hand", async () => {
    const { cwd } = directory;
    await writeFile(join(cwd, "tenants/acme/tenant.yaml"), original);
    await writeFile(join(cwd, "pmctl.yaml"), "version: 1\n");
    const env = { ACME_PUBLIC_KEY: `pk_${"D".repeat(43)}`, BETA_JWT_SECRET: `pk_${"D".repeat(43)}` };
    expect(await pmctlHere(["validate"], { cwd })).toMatchObject({ code: 0 });
    for (const words of [["validate"], ["plan", "acme"], ["apply", "acme"], ["serve", "acme"]]) {
      const { code, stderr } = await runner(words)(words, { cwd, env });
      expect([words[0], code]).toEqual([words[0], 6]);
      expect(stderr).toMatch(
        /keys\.public\[0\]\.secret {2}has the same value as auth\.jwt\.secret \(tenants\/beta\/tenant\.yaml:\d+:\d+\)/,
      );
    }
  });
});
