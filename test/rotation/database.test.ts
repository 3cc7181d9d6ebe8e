import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/postgres/connect.ts";
import { runAs, serverAccount } from "../../src/postgres/embedded/account.ts";
import { findPackage, prepareBinaries } from "../../src/postgres/embedded/binaries.ts";
import { tokenOf } from "../model/tenant.ts";
import { deposit, Fleet, openMarket, trade } from "./fleet.ts";

const ADMIN_PASSWORD = "the administrator's";
let directory: string;
let stop: () => Promise<void>;
let fleet: Fleet;

const urlOf = (login: string, password: string, database = "acme_markets") =>
  `postgresql://${login}:${encodeURIComponent(password)}@${encodeURIComponent(directory)}:5432/${database}`;

const signIn = (url: string, statement = "select 1") => {
  const sql = connect({ url }, { name: "test", max: 1 });
  return sql.unsafe(statement).finally(() => sql.end({ timeout: 1 }));
};
const administer = (statement: string, database = "postgres") =>
  signIn(urlOf("admin", ADMIN_PASSWORD, database), statement);

/** A PostgreSQL that asks every login for its password. */
async function startPostgres(): Promise<() => Promise<void>> {
  directory = await mkdtemp("/tmp/pmctl-logins-");
  const data = join(directory, "data");
  const account = await serverAccount(data);
  await chmod(directory, 0o755);
  const copies = async () => {
    await mkdir(join(directory, "bin"), { recursive: true });
    return join(directory, "bin");
  };
  const { initdb, postgres: program } = await prepareBinaries(findPackage(), copies, account);
  const passwords = join(directory, "password");
  await writeFile(passwords, ADMIN_PASSWORD);
  if (!account.isCaller) for (const path of [directory, passwords]) await chown(path, account.uid, account.gid);
  const terms = { ...runAs(account), stdin: "ignore", stdout: "ignore" } as const;
  const args = ["-D", data, "-U", "admin", "-A", "scram-sha-256", "--pwfile", passwords, "--no-sync"];
  await execa(initdb, [...args, "--no-instructions", "--locale", "C", "--encoding", "UTF8"], terms);
  const settings = ["-c", "listen_addresses=", "-c", `unix_socket_directories=${directory}`, "-c", "fsync=off"];
  const server = execa(program, ["-D", data, ...settings], { ...terms, stderr: "ignore", reject: false });
  const answers = () => administer("select 1").then(Boolean, () => false);
  for (const deadline = Date.now() + 60_000; !(await answers()); await delay(50))
    if (Date.now() > deadline) throw new Error("the server does not answer");
  return async () => {
    server.kill("SIGINT");
    await server;
    await rm(directory, { recursive: true, force: true });
  };
}

beforeAll(async () => {
  stop = await startPostgres();
  await administer("create role acme_owner login createdb password 'the first owner'");
  await administer("create role acme_server login password 'the first server'");
  const url = urlOf("acme_owner", "the first owner");
  const serverUrl = urlOf("acme_server", "the first server");
  fleet = await Fleet.open({ place: { url, serverUrl, drop: async () => undefined } });
});
afterAll(async () => {
  await fleet?.close();
  await stop?.();
});

test("the passwords of both logins are replaced while two servers serve: the owner's in place, the server's by a second login", async () => {
  const { ACME_PUBLIC_KEY: key = "", ACME_WEBHOOK_SECRET: hook = "", ACME_JWT_SECRET: jwt = "" } = fleet.values;
  await fleet.ofEach((url) => deposit(url, "usr_1", "opening", hook));
  const market = await openMarket(fleet);
  const token = tokenOf("usr_1", undefined, Date.now(), jwt);
  fleet.load("trades", (url) => trade(url, market, token, key));
  await fleet.everyClient();

  // No server connects as the owner.
  await administer("alter role acme_owner password 'the second owner'");
  await fleet.change({ values: { ACME_OWNER_URL: urlOf("acme_owner", "the second owner") } });
  expect((await fleet.operator.run("db", "migrate", "-t", "acme")).exitCode).toBe(0);
  await expect(signIn(urlOf("acme_owner", "the first owner"))).rejects.toMatchObject({ code: "28P01" });

  await administer("create role acme_server_2 login password 'the second server'");
  await fleet.change({ values: { ACME_DATABASE_URL: urlOf("acme_server_2", "the second server") } });
  // A server that runs applies, but only the owner can give rights.
  const migrated = await fleet.operator.run("db", "migrate", "-t", "acme");
  expect(migrated.exitCode, migrated.stderr).toBe(0);
  await fleet.roll();
  await administer("drop owned by acme_server; drop role acme_server", "acme_markets");
  await fleet.everyClient();
  await fleet.quiet();
  await expect(signIn(urlOf("acme_server", "the first server"))).rejects.toMatchObject({ code: "28P01" });
});
