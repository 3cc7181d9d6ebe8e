import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { afterAll, describe, expect, test } from "vitest";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import {
  ask,
  clusterIn,
  crash,
  createDirectory,
  endClusters,
  inProcess,
  keepAnswer,
  keptAnswer,
  serverPid,
  waitUntil,
} from "./embedded-support.ts";

afterAll(endClusters);

describe("a cluster in an ordinary directory", async () => {
  const directory = await createDirectory();
  const cluster = clusterIn(directory);

  test("asking for its status creates nothing and says where it would be", async () => {
    expect(await cluster.status("acme")).toEqual({
      running: false,
      dataDir: join(directory, ".pmctl/postgres/data"),
      host: join(directory, ".pmctl/postgres/socket"),
      port: 5432,
      url: `postgresql://pmctl@${encodeURIComponent(join(directory, ".pmctl/postgres/socket"))}:5432/acme`,
      version: expect.stringMatching(/^18\.\d+$/),
    });
    expect(await cluster.stop()).toBe(false);
    expect(await cluster.restartAfterCrash()).toBe(false);
    expect(existsSync(join(directory, ".pmctl"))).toBe(false);
  });

  test("two processes that start it at the same moment both succeed, and the server outlives them", async () => {
    const started = await Promise.all([inProcess(directory, "start"), inProcess(directory, "start")]);
    const status = await cluster.status();
    expect(status.running).toBe(true);
    for (const { stdout } of started) expect(JSON.parse(stdout)).toEqual(status);
    const session = execFileSync("ps", ["-o", "sid=", "-p", String(await serverPid(cluster))], { encoding: "utf8" });
    expect(Number(session)).toBe(await serverPid(cluster));
  });

  test("starts that another command's stop comes between wait for it and start the server", async () => {
    const starts = Array.from({ length: 8 }, () => cluster.start("acme"));
    expect(await cluster.stop()).toBe(true);
    for (const { running } of await Promise.all(starts)) expect(running).toBe(true);
    await cluster.start();
  });

  test("its owner role may create databases and roles, and is no superuser", async () => {
    const role =
      "select array[rolcreatedb, rolcreaterole, rolcanlogin, rolsuper]::text from pg_roles where rolname = current_user";
    expect(await ask(cluster.connection("postgres"), role)).toBe("{t,t,t,f}");
  });

  test("what it acknowledges is on the disk, and it has no TCP port and a socket that no other user can open", async () => {
    const connection = cluster.connection("postgres");
    for (const setting of ["fsync", "synchronous_commit", "full_page_writes"]) {
      expect(await ask(connection, `show ${setting}`)).toBe("on");
    }
    expect(await ask(connection, "show listen_addresses")).toBe("");
    expect((await stat(connection.host)).mode & 0o777).toBe(0o700);
    expect((await stat((await cluster.status()).dataDir)).mode & 0o777).toBe(0o700);
  });

  test("text compares and folds alike on every machine", async () => {
    const [encoding, locale] = await Promise.all([
      ask(cluster.connection("postgres"), "show server_encoding"),
      ask(
        cluster.connection("postgres"),
        "select concat(datlocprovider, datlocale) from pg_database where datname = 'postgres'",
      ),
    ]);
    expect([encoding, locale]).toEqual(["UTF8", "bC.UTF-8"]);
  });

  test("a database created twice at once is there once, and its owner role owns it", async () => {
    await Promise.all([1, 2, 3, 4].map(() => cluster.createDatabase('ac.me "x"')));
    await cluster.createDatabase('ac.me "x"');
    const owner =
      "select pg_get_userbyid(datdba) || current_database() from pg_database where datname = current_database()";
    expect(await ask(cluster.connection('ac.me "x"'), owner)).toBe('pmctlac.me "x"');
  });

  test("creating a database says so when the server is down, and starts nothing", async () => {
    const stopped = embeddedCluster(await createDirectory());
    await expect(stopped.createDatabase("acme")).rejects.toThrow("pmctl db start");
    expect((await stopped.status()).running).toBe(false);
  });

  test("a database name that PostgreSQL would cut off is refused", async () => {
    await expect(cluster.createDatabase("é".repeat(32))).rejects.toThrow("cannot name a database");
  });

  test("its url works in psql and in `new URL`", async ({ skip }) => {
    const { url } = await cluster.status('ac.me "x"');
    expect(decodeURIComponent(new URL(url).hostname)).toBe(cluster.connection("postgres").host);
    const psql = await execa("psql", [url, "-Atc", "select current_user, current_database()"], { reject: false });
    skip(psql.code === "ENOENT", "psql is not installed");
    expect(psql.stdout).toBe('pmctl|ac.me "x"');
  });

  test("after a kill -9 it comes back with everything that was committed", async () => {
    await keepAnswer(cluster);
    await crash(cluster);
    await cluster.start();
    expect(await keptAnswer(cluster)).toBe(42);
  });

  test("after a kill -9 it comes back although another program now has its process id", async () => {
    await crash(cluster);
    const pidFile = join((await cluster.status()).dataDir, "postmaster.pid");
    const [, ...rest] = (await readFile(pidFile, "utf8")).split("\n");
    await writeFile(pidFile, [process.ppid, ...rest].join("\n"));
    expect((await cluster.status()).running).toBe(false);
    expect((await cluster.start()).running).toBe(true);
  });

  test("after a kill -9 it comes back although a session of the killed server still works for a while", async () => {
    const query = "select count(*) from generate_series(1, 10000000)";
    const busy = ask(cluster.connection("postgres"), query).catch(() => "cut off");
    await delay(200);
    await crash(cluster);
    expect((await cluster.start()).running).toBe(true);
    expect(await keptAnswer(cluster)).toBe(42);
    await busy;
  });

  test("it restarts after a crash, and never after a stop", async () => {
    expect(await cluster.restartAfterCrash()).toBe(false);
    await crash(cluster);
    expect(await cluster.restartAfterCrash()).toBe(true);
    expect(await cluster.stop()).toBe(true);
    expect(await cluster.stop()).toBe(false);
    expect(await cluster.restartAfterCrash()).toBe(false);
    expect((await cluster.status()).running).toBe(false);
  });

  test("a stop after a crash is a stop", async () => {
    await cluster.start();
    await crash(cluster);
    expect(await cluster.stop()).toBe(false);
    expect(await cluster.restartAfterCrash()).toBe(false);
  });

  test("an orderly shutdown that another program asked for is no crash", async () => {
    await cluster.start();
    const pid = await serverPid(cluster);
    process.kill(pid, "SIGINT");
    await waitUntil(async () => !existsSync(join((await cluster.status()).dataDir, "postmaster.pid")));
    expect(await cluster.restartAfterCrash()).toBe(false);
  });

  test("when the server cannot start, the error shows its last words and the log's place", async () => {
    const { dataDir } = await cluster.status();
    const configuration = join(dataDir, "postgresql.conf");
    const original = await readFile(configuration, "utf8");
    await writeFile(configuration, `${original}\nmax_connections = many\n`);
    await expect(cluster.start()).rejects.toThrow(
      /did not start[\s\S]*start\.log[\s\S]*invalid value for parameter "max_connections"/,
    );
    await writeFile(configuration, original);
    expect((await cluster.start()).running).toBe(true);
  });
});
