import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { applyTenant } from "../../src/app/apply/apply-tenant.ts";
import { openConfigSession } from "../../src/app/tenant/config-session.ts";
import type { Plan } from "../../src/plan/plan-types.ts";
import { sharedOperator } from "../support/shared-operator.ts";

/** What loosens a limit live. */
const LOOSENED = ["--accept-loosening", "--reason", "as agreed"];

const { operator, run } = sharedOperator(async ({ run: begin, directory }) => {
  await begin("init", "acme");
  const markets = join(directory, "tenants/acme/markets");
  await copyFile(join(markets, "example.yaml.sample"), join(markets, "example.yaml"));
});
const file = () => join(operator.directory, "tenants/acme/tenant.yaml");
const replace = (from: string | RegExp, to: string) => operator.edit("acme", (text) => text.replace(from, to));
const json = async (...args: string[]) => JSON.parse((await run(...args, "-o", "json")).stdout);
const policy = async () => json("policy", "show");
const types = async () => ((await json("audit", "list")).entries as { type: string }[]).map(({ type }) => type);

// In order, like the days of an operator. Each command is a process of its own, so a busy machine takes its time.
describe("a tenant as code", () => {
  test("a plan of a tenant that was never applied makes no database, and --detailed-exitcode ends with 2", async () => {
    const plan = await run("plan", "acme", "--detailed-exitcode", "-o", "json");
    expect(plan.exitCode, plan.stderr).toBe(2);
    expect(JSON.parse(plan.stdout)[0]).toMatchObject({ tenant: "acme", liveVersion: 0, empty: false });
    expect((await run("policy", "show")).exitCode).toBe(3);
  });

  test("apply creates the markets of the files in the one commit, and the plan after it is empty", async () => {
    // Two at once, as the pods of a first rollout.
    for (const applied of await Promise.all([1, 2].map(() => run("apply", "acme", "--reason", "go live"))))
      expect(applied.exitCode, applied.stderr).toBe(0);
    expect((await types())[0]).toBe("config.applied");
    expect(await json("market", "list")).toHaveLength(1);
    const plan = await run("plan", "acme", "--detailed-exitcode", "-o", "json");
    expect(plan.exitCode, plan.stdout).toBe(0);
    expect(JSON.parse(plan.stdout)[0]).toMatchObject({ empty: true, items: [] });
  });

  test("@last is the market that a create or an apply made last; a create that makes none does not move it", async () => {
    const [applied] = await json("market", "list");
    expect((await json("market", "show", "@last")).id).toBe(applied.id);
    const words = "--question Rain? --category x --kind lmsr --p0 0.5 --close-at 2030-01-01T00:00:00Z".split(" ");
    const create = (key: string) => json("market", "create", "--key", key, ...words, "--resolution-ref", "judge");
    const [first, second] = [await create("first"), await create("second")];
    expect((await create("first")).id).toBe(first.id);
    expect((await json("market", "show", "@last")).id).toBe(second.id);
  });

  test("a user whom the tenant has never seen and a market that is not there end with 5, in every list too", async () => {
    await run("funding", "credit", "--user", "usr_1", "--amount", "5", "--new-user", "--yes", "--reason", "a gift");
    for (const line of [
      "user show usr_x",
      "user story usr_x",
      "user orders usr_x",
      "user statement usr_x",
      "user portfolio usr_x",
      "position list --user usr_x",
      "suitability show --user usr_x",
      "user release usr_x",
      "funding request --user usr_x --amount 5",
      "audit list --user usr_x",
    ])
      expect({ line, ...(await run(...line.split(" "))) }).toMatchObject({
        exitCode: 5,
        stdout: "",
        stderr: expect.stringContaining("There is no user usr_x; did you mean usr_1?"),
      });
    for (const line of ["audit list --market nosuch", "user orders usr_1 --market nosuch"])
      expect({ line, ...(await run(...line.split(" "))) }).toMatchObject({ exitCode: 5, stdout: "" });
    for (const line of [
      "market show secnd",
      "market history secnd",
      "trade quote --market secnd --side yes --amount 1",
    ])
      expect({ line, ...(await run(...line.split(" "))) }).toMatchObject({
        exitCode: 5,
        stderr: expect.stringContaining("Market not found; did you mean second?"),
      });
    const { entries } = await json("audit", "list", "--market", "second");
    expect(entries).toMatchObject([{ type: "market.created", payload: { key: "second" } }]);
  });

  test("drift names who, when, which entry and why, stops an unattended apply, and goes into the file with its comments", async () => {
    await run("policy", "set", "maxTradeUsd=40", "feeBps=90", "--yes", "--reason", "incident 7");
    const [entry] = (await json("audit", "list", "--type", "policy.updated")).entries;
    const drift = await run("drift", "acme", "-o", "json");
    expect(drift.exitCode).toBe(3);
    expect(JSON.parse(drift.stdout)).toMatchObject([
      { field: "policy.feeBps", kind: "drift" },
      { field: "policy.maxTradeUsd", live: 40, by: { seq: entry.seq, actor: entry.actor, reason: "incident 7" } },
    ]);
    expect((await run("apply", "acme")).exitCode).toBe(3);
    expect((await run("apply", "acme", "--on-drift", "overwrite")).exitCode).toBe(3);
    expect((await policy()).maxTradeUsd).toBe(40);
    const before = await readFile(file(), "utf8");
    expect((await run("drift", "acme", "--write")).exitCode).toBe(0);
    const after = before
      .replace("maxTradeUsd: 500", "maxTradeUsd: 40")
      .replace("feeBps: 100 # 100 is 1 %", "feeBps: 90 # 100 is 1 %");
    expect(await readFile(file(), "utf8")).toBe(after);
    expect((await run("drift", "acme")).exitCode).toBe(0);
    expect((await run("apply", "acme")).exitCode).toBe(0);
  });

  test("what was changed in the file too is not written back: both ways out are named, and they work", async () => {
    await run("policy", "set", "maxTradeUsd=20", "--yes");
    await replace("maxTradeUsd: 40", "maxTradeUsd: 41");
    const stopped = await run("apply", "acme");
    expect(stopped).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining("decide in the file on values that it changed too"),
    });
    expect(stopped.stderr).not.toContain("drift --write");
    const text = await readFile(file(), "utf8");
    const left = await run("drift", "acme", "--write");
    expect(left).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining("edit the file, or see apply --on-drift"),
    });
    expect(await readFile(file(), "utf8")).toBe(text);
    await replace("maxTradeUsd: 41", "maxTradeUsd: 20");
    expect((await run("apply", "acme")).exitCode).toBe(0);
    await replace("maxTradeUsd: 20", "maxTradeUsd: 40");
    expect((await run("apply", "acme", "--accept-loosening")).exitCode).toBe(0);
  });

  test("pull prints the file with the live values, also of fields that it does not state", async () => {
    await run("policy", "set", "maxTradeUsd=35", "suitabilityRequired=true", "--yes", ...LOOSENED);
    const pulled = await run("pull", "acme");
    expect(pulled.exitCode, pulled.stderr).toBe(0);
    expect(pulled.stdout).toContain("maxTradeUsd: 35");
    expect(pulled.stdout).toContain("suitabilityRequired: true");
    expect(pulled.stdout).toContain("# Secrets are references");
    expect((await run("pull", "acme", "--write", "--quiet")).exitCode).toBe(0);
    expect(await readFile(file(), "utf8")).toBe(`${pulled.stdout}\n`);
    expect((await json("plan", "acme"))[0].items).toEqual([]);
  });

  test("a saved plan holds no secrets, is carried out once, and is refused when anything moved", async () => {
    await run("apply", "acme");
    await replace("maxTradeUsd: 35", "maxTradeUsd: 25");
    const out = join(operator.directory, "next.plan");
    // A replay is of its moment, and so it binds nothing.
    const saved = await run("plan", "acme", "--out", out, "--replay", "30d");
    expect(saved.exitCode, saved.stderr).toBe(0);
    const text = await readFile(out, "utf8");
    expect(JSON.parse(text).plans).toMatchObject([{ replay: { recorded: { trades: 0 }, refused: { trades: 0 } } }]);
    for (const secret of Object.values(await operator.secrets())) expect(text).not.toContain(secret);
    await replace("maxTradeUsd: 25", "maxTradeUsd: 26");
    expect((await run("apply", out)).stderr).toContain("the files have changed");
    expect((await run("apply", out, "--dry-run")).stderr).toContain("the files have changed");
    await replace("maxTradeUsd: 26", "maxTradeUsd: 25");
    const dry = await run("apply", out, "--dry-run", "-o", "json");
    expect(JSON.parse(dry.stdout)).toMatchObject([{ tenant: "acme", items: [{ field: "policy.maxTradeUsd" }] }]);
    await run("policy", "set", "feeBps=80", "--yes");
    expect(await run("apply", out)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining("stale") });
    await run("policy", "set", "feeBps=90", "--yes");
    await run("plan", "acme", "--out", out, "--replay", "30d");
    expect((await run("apply", out)).exitCode).toBe(0);
    expect((await policy()).maxTradeUsd).toBe(25);
    expect((await run("apply", out)).exitCode).toBe(3);
  });

  test("an apply records who applied and the commit of its files: -dirty where one of them is not the commit's", async () => {
    const git = (...args: string[]) => execa("git", args, { cwd: operator.directory });
    const commit = async () => {
      await git("add", "tenants");
      await git(
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t.example",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "more",
      );
      return (await git("rev-parse", "HEAD")).stdout;
    };
    const applied = async () => {
      const [item] = await json("apply", "acme", "--accept-loosening");
      const [latest] = await json("history", "acme");
      const { seq, hash, gitCommit, fileSha256 } = item;
      expect(latest).toMatchObject({ seq, hash, gitCommit, fileSha256, actor: expect.stringMatching(/^cli:./) });
      const table = await run("history", "acme", "-o", "table", "--limit", "1");
      expect(table.stdout).toContain(`${gitCommit.slice(0, 8)}${gitCommit.endsWith("-dirty") ? "-dirty" : "  "}`);
      return gitCommit;
    };
    await git("init", "--quiet");
    await writeFile(join(operator.directory, "notes.txt"), "no file of the tenant");
    const first = await commit();
    await replace("maxTradeUsd: 25", "maxTradeUsd: 22");
    expect(await applied()).toBe(`${first}-dirty`);
    const second = await commit();
    await replace("maxTradeUsd: 22", "maxTradeUsd: 25");
    const third = await commit();
    expect(await applied()).toBe(third);
    expect(second).not.toBe(third);
    // What is brought back is of its own commit, not of the one that the directory stands at.
    const [, { seq: to }] = await json("history", "acme");
    await json("rollback", "acme", "--to", String(to), "--accept-loosening");
    expect((await json("history", "acme"))[0]).toMatchObject({ rollbackTo: to, gitCommit: `${first}-dirty` });
    expect(await applied()).toBe(third);
  });

  test("apply shows the plan that it carries out and gives it as data; history counts every kind and shows each field", async () => {
    const markets = join(operator.directory, "tenants/acme/markets");
    const rain = [
      ["key: rain", "question: Will it rain?", "category: weather", "kind: lmsr", "p0: 0.4"],
      ["closeAt: 2096-01-01T00:00:00Z", "resolutionRef: by hand", "liquidityUsd: 50"],
    ].flat();
    await writeFile(join(markets, "rain.yaml"), rain.join("\n"));
    await replace("maxTradeUsd: 25", "maxTradeUsd: 23");
    const { stdout, stderr, exitCode } = await run("apply", "acme", "--yes", "-o", "json");
    expect(exitCode, stderr).toBe(0);
    for (const line of ["acme: ~ change policy.maxTradeUsd: 25 -> 23  TIGHTENS", "acme: + create markets.rain: -"])
      expect(stderr).toContain(line);
    const [applied] = JSON.parse(stdout);
    const [entry] = (await json("audit", "list", "--limit", "1", "-t", "acme")).entries;
    expect(applied.gitCommit).toMatch(/-dirty$/);
    expect(applied).toMatchObject({ changed: true, seq: entry.seq, hash: entry.hash, migrations: [] });
    expect(applied.changes.map(({ field }: { field: string }) => field)).toEqual([
      "policy.maxTradeUsd",
      "markets.rain",
    ]);
    expect((await json("apply", "acme"))[0]).toMatchObject({ changed: false, seq: null, hash: null, changes: [] });
    const [newest, before] = await json("history", "acme");
    expect(newest.changes).toEqual({ policy: 1, markets: 1, keys: 0, settings: 0 });
    const shown = await json("history", "show", String(newest.seq), "-t", "acme");
    expect(shown).toMatchObject({ tenant: "acme", seq: newest.seq, document: { policy: { maxTradeUsd: 23 } } });
    expect(shown.changes).toEqual([
      { field: "policy.maxTradeUsd", before: 25, after: 23 },
      { field: "markets.rain", before: null, after: expect.objectContaining({ question: "Will it rain?" }) },
    ]);
    const diff = await json("history", "diff", String(newest.seq), String(before.seq), "-t", "acme");
    expect(diff).toMatchObject({ from: newest.seq, to: before.seq });
    expect(diff.changes).toContainEqual({ field: "policy.maxTradeUsd", before: 23, after: 25 });
    for (const words of [
      ["show", "1"],
      ["diff", "1", "2"],
      ["diff", String(newest.seq), "99999"],
    ])
      expect([words, (await run("history", ...words, "-t", "acme")).exitCode]).toEqual([words, 5]);
    expect((await run("history", "show", "x", "-t", "acme")).exitCode).toBe(6);
    await replace("maxTradeUsd: 23", "maxTradeUsd: 25");
    expect((await run("apply", "acme", "--accept-loosening")).exitCode).toBe(0);
    await writeFile(join(markets, "rain.yaml"), rain.join("\n").replace("rain?", "snow?"));
    const annotated = await run("plan", "acme", "-o", "github");
    expect(annotated.stdout).toMatch(
      /^::error file=tenants\/acme\/markets\/rain\.yaml,line=1,col=\d+,title=CONFLICT::markets\.rain[.\w]*: a market's question never changes/,
    );
    expect(annotated.exitCode).toBe(3);
    await writeFile(join(markets, "rain.yaml"), rain.join("\n"));
  });

  test("--target plans and applies some fields only, a saved plan of them too; what is not there ends with 5", async () => {
    const out = join(operator.directory, "target.plan");
    await replace(/maxTradeUsd: \d+/, "maxTradeUsd: 19");
    await replace(/feeBps: \d+/, "feeBps: 77");
    expect((await run("plan", "acme", "--target", "policy.nosuch")).exitCode).toBe(5);
    expect((await run("plan", "acme", "--target", "policy.feeBps", "--out", out)).exitCode).toBe(0);
    const [saved] = JSON.parse((await run("apply", out, "-o", "json")).stdout);
    expect(saved.changes).toMatchObject([{ field: "policy.feeBps", desired: 77 }]);
    const [plan] = await json("plan", "acme");
    expect(plan.items).toMatchObject([{ field: "policy.maxTradeUsd", kind: "change", desired: 19 }]);
    const [applied] = await json("apply", "acme", "--target", "policy.maxTradeUsd", "--target", "policy.feeBps");
    expect(applied.changes).toMatchObject([{ field: "policy.maxTradeUsd" }]);
    await replace("maxTradeUsd: 19", "maxTradeUsd: 23");
    expect((await run("apply", "acme", "--accept-loosening")).exitCode).toBe(0);
  });

  test("an apply that another one of the same files comes before changes nothing; one that drift comes before is refused", async () => {
    await replace("maxTradeUsd: 23", "maxTradeUsd: 21");
    const applyAfter = async (...between: string[]) => {
      const session = await openConfigSession(operator.directory, "acme", { via: "db" }, { note: () => {} });
      const empty: boolean[] = [];
      const choose = async (plan: Plan) => {
        if (empty.length === 0) expect((await run(...between)).exitCode).toBe(0);
        empty.push(plan.empty);
        return { onDrift: "fail", acceptLoosening: false } as const;
      };
      return applyTenant(session, choose)
        .then(({ changed }) => ({ changed, empty }))
        .finally(() => session.close());
    };
    expect(await applyAfter("apply", "acme")).toEqual({ changed: false, empty: [false, true] });
    await expect(applyAfter("policy", "set", "maxTradeUsd=20", "--yes", "-t", "acme")).rejects.toThrow(
      /policy\.maxTradeUsd/,
    );
    expect((await run("apply", "acme", "--accept-loosening", "--on-drift", "overwrite")).exitCode).toBe(0);
  });

  test("a market's changed question stops the apply, and a suspended one goes into its file", async () => {
    const market = join(operator.directory, "tenants/acme/markets/example.yaml");
    const text = await readFile(market, "utf8");
    await writeFile(market, text.replace("Will it rain", "Shall it rain"));
    expect(await run("apply", "acme", "--accept-loosening", "--on-drift", "overwrite")).toMatchObject({ exitCode: 3 });
    await writeFile(market, text);
    const [, key = ""] = /^key: "?([\w-]+)/m.exec(text) ?? [];
    expect((await run("market", "suspend", key, "-t", "acme")).exitCode).toBe(0);
    expect((await run("drift", "acme", "--write")).exitCode).toBe(0);
    expect(await readFile(market, "utf8")).toBe(`${text}state: "suspended"\n`);
    expect((await json("plan", "acme"))[0].items).toEqual([]);
  });
});
