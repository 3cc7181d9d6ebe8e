import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTwoDoors, type Side, type TwoDoors } from "./support/two-doors.ts";

let doors: TwoDoors;
beforeAll(async () => {
  doors = await openTwoDoors();
});
afterAll(() => doors?.close());

const folderOf = ({ tenant }: Side) => join(doors.operator.directory, "tenants", tenant, "markets");
const filesOf = async (side: Side) => (await readdir(folderOf(side))).filter((name) => name.endsWith(".yaml"));

function commandsOn(side: Side) {
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await side.raw(...words, "-o", "json");
    return { code, stderr, data: stdout === "" ? undefined : JSON.parse(stdout) };
  };
  const done = async (...words: string[]) => {
    const { code, stderr, data } = await run(...words);
    expect(code, stderr).toBe(0);
    return data;
  };
  const create = async (question: string, ...more: string[]): Promise<string> => {
    const terms = ["--category", "weather", "--kind", "lmsr", "--p0", "0.4", "--close-at", "2096-01-01T00:00:00Z"];
    const rest = ["--resolution-ref", "yes", "--liquidity", "12.345678", ...more];
    return (await done("market", "create", "--question", question, ...terms, ...rest)).id;
  };
  return { run, done, create };
}

/** Questions that YAML could misread, or that give no key of their own. */
const QUESTIONS = ["Will it rain: yes or no? # 1", "will it rain yes or no 1", "no", "雨?"];

test.each(["db", "http"] as const)(
  "live markets come into files, plans show imports only, and an apply takes them over with their money: %s",
  async (door) => {
    const side = doors[door];
    const { run, done, create } = commandsOn(side);
    const ids: string[] = [];
    for (const question of QUESTIONS) ids.push(await create(question, "--meta", '{"on":"yes","a":{"n":1.5}}'));
    await create("A market with a key?", "--key", "its-own");
    const settled = await create("Settled?");
    await done("market", "settle", settled, "--outcome", "yes", "--reason", "test", "--early", "--yes");
    await done("market", "suspend", ids[0] ?? "", "--yes");
    const market = await done("market", "show", ids[0] ?? "");
    const house = await done("report", "house");

    const [before] = await done("plan");
    expect(before.warnings).toEqual([expect.stringContaining("`pmctl pull --markets --write`")]);
    const shown = await done("pull", "--markets");
    expect(await filesOf(side)).toEqual([]);
    expect(await done("pull", "--markets", "--write")).toEqual(shown);
    const keys = ["will-it-rain-yes-or-no-1", "will-it-rain-yes-or-no-1-2", "no", "market"];
    expect(await filesOf(side)).toHaveLength(keys.length + 1);
    const text = await readFile(join(folderOf(side), "no.yaml"), "utf8");
    expect(text).toMatch(/^key: "no"\nimport: mkt_\S+\nquestion: "no"\n/);
    expect(await done("pull", "--markets")).toEqual([]);

    // The market that has its key already is in a file with that.
    const [{ items, warnings, money }] = await done("plan");
    const imports = items.map(({ field, kind, live }: Record<string, string>) => `${field} ${kind} ${live}`);
    expect(imports.toSorted()).toEqual(keys.map((key, index) => `markets.${key} import ${ids[index]}`).toSorted());
    expect({ warnings, count: money.newMarkets.count }).toEqual({ warnings: [], count: 0 });
    expect(await run("drift")).toMatchObject({ code: 0, data: [] });

    const [applied] = await done("apply", "--reason", "files at last");
    expect(applied.changes).toHaveLength(ids.length);
    expect((await done("plan"))[0]).toMatchObject({ empty: true, warnings: [] });
    expect((await done("apply"))[0]).toMatchObject({ changed: false });
    expect(await done("report", "house")).toEqual(house);
    const [key = ""] = keys;
    expect(await done("market", "show", key)).toEqual({ ...market, key });
    expect((await done("story", key)).subject).toMatchObject({ id: ids[0], key });
    expect((await done("audit", "list", "--type", "market.imported")).entries).toHaveLength(ids.length);
    expect(await done("reconcile", "--explain")).not.toContainEqual(expect.objectContaining({ ok: false }));
  },
);

test("an import that is not what the file says is refused, and no file is written over", async () => {
  const side = doors.http;
  const { run, done, create } = commandsOn(side);
  const [file, other] = [join(folderOf(side), "hail.yaml"), join(folderOf(side), "again.yaml")];
  const id = await create("Hail?");
  await writeFile(file, "[]");
  expect(await done("pull", "--markets")).toMatchObject([{ key: "hail-2", import: id }]);
  await rm(file);
  await done("pull", "--markets", "--write");
  const text = await readFile(file, "utf8");
  for (const [from, to, problem] of [
    [/^category: .*$/m, "category: sports", "category never changes: state it as it is"],
    [id, "mkt_nosuch", "no unsettled market mkt_nosuch"],
  ] as const) {
    await writeFile(file, text.replace(from, to));
    expect(await run("apply")).toMatchObject({ code: 3, stderr: expect.stringContaining(problem) });
  }
  await writeFile(file, text);
  await writeFile(other, text.replace("key: hail", "key: again"));
  expect(await run("plan")).toMatchObject({ code: 6, stderr: expect.stringContaining("it is imported at") });
  await rm(other);
  expect(await run("market", "create", "-f", file)).toMatchObject({ code: 6 });
  await done("apply");
  await writeFile(file, "[]");
  const refused = { code: 3, stderr: expect.stringContaining("there are files already") };
  expect(await run("pull", "--markets", "--write")).toMatchObject(refused);
  expect(await readFile(file, "utf8")).toBe("[]");
  await side.edit((tenant) => tenant.replace("markets/*.yaml", "other/*.yaml"));
  const unread = { code: 6, stderr: expect.stringContaining("add markets/*.yaml to markets.files") };
  expect(await run("pull", "--markets", "--write")).toMatchObject(unread);
});
