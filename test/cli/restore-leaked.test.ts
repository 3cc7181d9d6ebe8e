import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { connectionUrl } from "../../src/postgres/embedded/connection.ts";
import { newOperator, type Operator } from "../support/operator.ts";

const ACCEPTED = ["--accept-rollback", "--reason", "the backup is older", "-o", "json"];

let operator: Operator;
let backup: string;
let leaked: string;
beforeAll(async () => {
  operator = await newOperator();
  backup = join(operator.directory, "acme.backup.gz");
  await done("init", "acme");
  await done("apply", "acme");
  await done("key", "create", "--name", "desk", "--type", "admin");
  await done("db", "backup", backup);
  leaked = await put(JSON.parse(await done("key", "rotate", "ops", "--leaked", "-o", "json")).key);
  await done("key", "rotate", "desk", "--leaked");
});
afterAll(() => operator.close());

async function done(...words: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await operator.run(...words);
  expect([words, exitCode, stderr]).toEqual([words, 0, expect.anything()]);
  return stdout;
}

/** Puts a value of the admin key into the place where the tenant file takes it from. @returns the one before */
async function put(value: string): Promise<string> {
  const file = join(operator.directory, ".env");
  const before = (await operator.secrets()).ACME_ADMIN_KEY ?? "";
  await writeFile(file, (await readFile(file, "utf8")).replace(before, value));
  return before;
}

const keys = async () =>
  (JSON.parse(await done("key", "list", "-o", "json")) as { name: string; active: boolean; leaked: boolean }[])
    .filter(({ name }) => name === "ops" || name === "desk")
    .map(({ name, active, leaked: isLeaked }) => [name, active, isLeaked]);

test("a restore into a new database carries over what the tenant's own knows as leaked", async () => {
  const cluster = embeddedCluster(operator.directory);
  const connection = cluster.connection("acme");
  const url = connectionUrl({ ...connection, database: `${connection.database}_into` });
  const words = ["db", "restore", backup, "--into", "ACME_NEW_URL", ...ACCEPTED];
  const { exitCode, stdout, stderr } = await operator.runWith({ ACME_NEW_URL: url }, ...words);
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining("Key ops: its value was ended as leaked")]);
  expect(JSON.parse(stdout).leakedKeys).toEqual([
    { name: "desk", usable: false },
    { name: "ops", usable: false },
  ]);
});

test("a restore in place of the tenant's database ends again what was ended as leaked, and says which key needs a value", async () => {
  const { exitCode, stdout, stderr } = await operator.run("db", "restore", backup, "--yes", ...ACCEPTED);
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining("pmctl key create --name desk")]);
  expect(JSON.parse(stdout).leakedKeys).toEqual([
    { name: "desk", usable: false },
    { name: "ops", usable: false },
  ]);
  expect(await keys()).toEqual([
    ["desk", false, true],
    ["ops", false, true],
  ]);
  const fresh = await put(leaked);
  const refused = await operator.run("apply", "acme", "--on-drift", "overwrite", "--accept-loosening");
  expect([refused.exitCode, refused.stderr]).toEqual([3, expect.stringContaining("was ended as leaked")]);
  await put(fresh);
  // The step that the restore named.
  await done("apply", "acme", "--on-drift", "overwrite", "--accept-loosening");
  expect(await keys()).toContainEqual(["ops", true, false]);
  expect(JSON.parse(await done("reconcile", "-o", "json"))).toMatchObject({ ok: true });
  expect(JSON.parse(await done("replay", "-o", "json"))).toMatchObject({ ok: true });
  expect(await done("audit", "list", "--type", "key.revoked", "-o", "json")).toContain(
    '"reason": "the backup is older"',
  );
});

test("a restore where no database tells what leaked says so", async () => {
  const other = await newOperator();
  try {
    await other.run("init", "acme");
    await writeFile(join(other.directory, ".env"), await readFile(join(operator.directory, ".env"), "utf8"));
    const { exitCode, stdout, stderr } = await other.run("db", "restore", backup, "--yes", "-o", "json");
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("pmctl key rotate NAME --leaked")]);
    expect(JSON.parse(stdout).leakedKeys).toBeNull();
  } finally {
    await other.close();
  }
});
