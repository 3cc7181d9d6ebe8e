import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ended, inProcess } from "../support/in-process.ts";
import { MAIN } from "./support/pmctl.ts";
import { openTwoDoors, type TwoDoors } from "./support/two-doors.ts";

let doors: TwoDoors;
let url: string;
/** A pipeline's directory: the files of both tenants, no `.env`, no database. */
let pipeline: string;
let keys: Record<string, string>;
beforeAll(async () => {
  doors = await openTwoDoors();
  url = doors.server.url;
  pipeline = join(doors.operator.directory, "pipeline");
  await mkdir(pipeline);
  await cp(join(doors.operator.directory, "tenants"), join(pipeline, "tenants"), { recursive: true });
  const secrets = await doors.operator.secrets();
  keys = Object.fromEntries(Object.entries(secrets).filter(([name]) => /_(ADMIN|PUBLIC)_KEY$/.test(name)));
});
afterAll(() => doors?.close());

const { PATH } = process.env;
const inPipeline = (args: string[], env: Record<string, string> = keys): Promise<Ended> =>
  inProcess(args, { cwd: pipeline, env: { PATH, ...env } });
const tenantFile = (directory: string, tenant = "served") => join(directory, "tenants", tenant, "tenant.yaml");
async function edit(directory: string, from: RegExp, to: string, tenant = "served"): Promise<void> {
  const file = tenantFile(directory, tenant);
  await writeFile(file, (await readFile(file, "utf8")).replace(from, to));
}
const liveLimit = async () => JSON.parse((await doors.http.raw("policy", "show")).stdout).maxTradeUsd;

describe("a pipeline that holds the keys and nothing else", () => {
  const at = (...words: string[]) => inPipeline([...words, "-t", "served", "--url", url]);

  test("plans, applies, sees drift, pulls, reads the history, rolls back and explains the ledger over --url", async () => {
    await edit(pipeline, /maxTradeUsd: \d+/, "maxTradeUsd: 450");
    expect((await at("plan", "--detailed-exitcode")).code).toBe(2);
    const applied = await at("apply", "--reason", "by pipeline");
    expect(applied.code, applied.stderr).toBe(0);
    expect(await liveLimit()).toBe(450);
    const [latest, first] = JSON.parse((await at("history")).stdout);
    expect(latest).toMatchObject({ actor: "admin:ops", reason: "by pipeline", policy: ["maxTradeUsd"] });
    for (const words of [["drift"], ["pull"], ["reconcile", "--explain"]])
      expect(await at(...words)).toMatchObject({ code: 0 });
    const undone = await at("rollback", "--to", String(first.seq), "--accept-loosening");
    expect(undone.code, undone.stderr).toBe(0);
    expect(await liveLimit()).toBe(500);
  });

  test("is told which key's value is missing, with 6; a rollback needs the admin key alone", async () => {
    const { SERVED_ADMIN_KEY = "" } = keys;
    const [{ seq }] = JSON.parse((await at("history")).stdout);
    const only = (words: string[]) => inPipeline([...words, "-t", "served", "--url", url], { SERVED_ADMIN_KEY });
    for (const verb of ["plan", "apply"])
      expect(await only([verb])).toMatchObject({ code: 6, stderr: expect.stringContaining("SERVED_PUBLIC_KEY") });
    expect(await only(["rollback", "--to", String(seq)])).toMatchObject({ code: 0 });
    expect(await inPipeline(["plan", "-t", "served", "--url", url], {})).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("SERVED_ADMIN_KEY"),
    });
  });

  test("never falls back to a database that it was not sent to: 4 for a key, 9 for nobody there", async () => {
    const commands = [["plan"], ["apply"], ["drift"], ["pull"], ["history"], ["rollback", "--to", "3"]];
    for (const words of [...commands, ["reconcile", "--explain"]]) {
      const ended = await inPipeline([...words, "-t", "served", "--url", url], {
        ...keys,
        SERVED_ADMIN_KEY: "sk_of_another_operator_0123456789abcdefghijklmnop",
      });
      expect([words[0], ended.code, ended.stdout]).toEqual([words[0], 4, ""]);
      const away = await inPipeline([...words, "-t", "served", "--url", "http://127.0.0.1:1"]);
      expect([words[0], away.code, away.stdout]).toEqual([words[0], 9, ""]);
    }
    expect(await inPipeline(["plan", "-t", "served", "--url", url, "--via", "db"])).toMatchObject({ code: 6 });
    expect(await inPipeline(["plan", "-t", "served", "--via", "http"])).toMatchObject({ code: 9 });
  });

  test("is refused with 3, and writes nothing, at another tenant's server", async () => {
    const mistaken = { ...keys, UNSERVED_ADMIN_KEY: keys.SERVED_ADMIN_KEY ?? "" };
    const before = (await at("history")).stdout;
    for (const words of [["plan"], ["apply", "--accept-loosening"], ["drift"], ["rollback", "--to", "3"]]) {
      const ended = await inPipeline([...words, "-t", "unserved", "--url", url], mistaken);
      expect(ended).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("serves the tenant served") });
    }
    expect((await at("history")).stdout).toBe(before);
  });

  /** A pipeline whose machine trusts the certificate that the server signed for itself. */
  async function trusting(args: string[], env: Record<string, string>): Promise<Ended> {
    const ca = join(doors.operator.directory, ".pmctl", "tls", "served.crt");
    const { exitCode, stdout, stderr } = await execa(process.execPath, [MAIN, ...args], {
      ...{ cwd: pipeline, extendEnv: false, env: { PATH, NODE_EXTRA_CA_CERTS: ca, ...env } },
      ...{ reject: false, stdin: "ignore" },
    });
    return { code: exitCode ?? -1, stdout, stderr };
  }
  let tlsUrl: string;

  test("finds each tenant's server by its own variable, several at once, and falls back to no database", async () => {
    tlsUrl = (await doors.operator.serve("served", "--https")).url;
    const env = { ...keys, PMCTL_URL_SERVED: tlsUrl, PMCTL_URL_UNSERVED: "https://127.0.0.1:1" };
    const planned = await trusting(["plan", "served", "unserved"], env);
    expect(planned).toMatchObject({ code: 10, stderr: expect.stringContaining("unserved: was not planned") });
    expect(JSON.parse(planned.stdout)).toMatchObject([{ tenant: "served" }]);
    expect(await trusting(["history", "-t", "served"], env)).toMatchObject({ code: 0 });
    expect(await inPipeline(["drift", "-t", "unserved"], env)).toMatchObject({ code: 9, stdout: "" });
  });

  test("is told by tenant show which server its commands go to, and every value of the file on a line", async () => {
    const shown = await inPipeline(["tenant", "show", "served", "-o", "table"], { ...keys, PMCTL_URL_SERVED: tlsUrl });
    expect(shown.stdout).toMatch(new RegExp(`^door +the server at ${tlsUrl}$`, "m"));
    expect(shown.stdout).toMatch(/^keys\.admin\[0\]\.secret\.env +SERVED_ADMIN_KEY$/m);
    expect(shown.stdout).not.toContain("{");
    const here = await doors.db.raw("tenant", "show");
    const asked = await inPipeline(["tenant", "show", "served", "--url", url]);
    expect(JSON.parse(here.stdout)).toMatchObject({ door: { kind: "db" } });
    expect(JSON.parse(asked.stdout).door).toEqual({ kind: "http", url });
  });

  test("whose tenants all fail is not told that nothing differs, nor that there is nothing to apply", async () => {
    const both = ["served", "unserved", "-o", "table"];
    const nobody = { ...keys, PMCTL_URL_SERVED: "https://127.0.0.1:1", PMCTL_URL_UNSERVED: "https://127.0.0.1:1" };
    expect(await inPipeline(["plan", ...both], nobody)).toMatchObject({
      code: 9,
      stderr: expect.stringContaining("Nothing was planned."),
    });
    expect(await inPipeline(["apply", ...both], nobody)).toMatchObject({
      code: 9,
      stderr: expect.stringContaining("Nothing was applied."),
    });
  });

  test("may not name several tenants behind one address, neither by name nor by a saved plan", async () => {
    for (const verb of ["plan", "apply"])
      expect(await inPipeline([verb, "served", "unserved", "--url", url])).toMatchObject({ code: 6, stdout: "" });
    const both = join(pipeline, "both.plan");
    expect((await doors.operator.run("plan", "served", "unserved", "--out", both)).exitCode).toBe(0);
    for (const words of [["--dry-run"], []])
      expect(await inPipeline(["apply", both, ...words, "--url", url])).toMatchObject({ code: 6, stdout: "" });
  });
});

describe("a saved plan", () => {
  const out = () => join(doors.operator.directory, "saved.plan");
  const local = (...words: string[]) => doors.operator.run(...words, "-t", "served");

  test("made over one door is carried out once over the other, both ways", async () => {
    for (const [made, carried] of [
      ["db", "http"],
      ["http", "db"],
    ] as const) {
      await edit(doors.operator.directory, /feeBps: \d+/, made === "db" ? "feeBps: 91" : "feeBps: 92");
      expect((await local("plan", "--via", made, "--out", out())).exitCode).toBe(0);
      const applied = await local("apply", out(), "--via", carried);
      expect(applied.exitCode, applied.stderr).toBe(0);
      for (const via of [made, carried])
        expect(await local("apply", out(), "--via", via)).toMatchObject({ exitCode: 3, stdout: "" });
    }
  });
});

describe("without an address", () => {
  test("an apply that brings a new admin key passes the running server by, and says so; by name it ends with 4", async () => {
    const env = join(doors.operator.directory, ".env");
    await copyFile(env, `${env}.before`);
    const rotated = (await readFile(env, "utf8")).replace(
      /^SERVED_ADMIN_KEY=.*$/m,
      "SERVED_ADMIN_KEY=sk_rotated-0123456789-abcdefghijklmnopqrstuvwx",
    );
    await writeFile(env, rotated);
    for (const door of [
      ["--url", url],
      ["--via", "http"],
    ])
      expect((await doors.http.raw("apply", ...door)).code).toBe(4);
    const planned = await doors.http.raw("plan", "--detailed-exitcode");
    expect(planned).toMatchObject({ code: 2, stderr: expect.stringContaining("does not know the file's admin key") });
    const applied = await doors.http.raw("apply");
    expect(applied).toMatchObject({ code: 0, stderr: expect.stringContaining("going straight to the database") });
    // The server takes new keys up within a second.
    await expect.poll(async () => (await doors.http.raw("policy", "show")).code).toBe(0);
    const again = await doors.http.raw("apply");
    expect(again.stderr).not.toContain("database");
    await rm(`${env}.before`);
  });

  test("one tenant that cannot be applied does not hide the other, and the code is 10 whichever door each takes", async () => {
    await edit(doors.operator.directory, /maxTradeUsd: \d+/, "maxTradeUsd: 700");
    await edit(doors.operator.directory, /maxTradeUsd: \d+/, "maxTradeUsd: 300", "unserved");
    const both = await doors.operator.run("apply", "served", "unserved");
    expect(both.exitCode, both.stderr).toBe(10);
    expect(JSON.parse(both.stdout)).toMatchObject([{ tenant: "unserved", changed: true }]);
    expect(await liveLimit()).toBe(500);
  });
});
