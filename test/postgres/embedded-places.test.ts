import { existsSync } from "node:fs";
import { chmod, chown, cp, lstat, mkdir, readdir, readFile, realpath, rm, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { afterAll, describe, expect, test } from "vitest";
import { findPackage } from "../../src/postgres/embedded/binaries.ts";
import type { ClusterStatus } from "../../src/postgres/embedded/cluster.ts";
import { copiesDirectory, findSite } from "../../src/postgres/embedded/home.ts";
import {
  ask,
  clusterIn,
  clusterModule,
  createDirectory,
  endClusters,
  inProcess,
  keepAnswer,
  keptAnswer,
  listNames,
  serverPid,
  waitUntil,
} from "./embedded-support.ts";

afterAll(endClusters);

const isRoot = process.geteuid?.() === 0;
const nobody = 65534;

/** A directory in which a start was killed. On a busy machine one may be over before it is looked at; then the next is. */
async function killedStart(): Promise<{ directory: string; home: string }> {
  for (;;) {
    const directory = await createDirectory();
    const home = join(directory, ".pmctl/postgres");
    const starting = inProcess(directory, "start");
    const ended = starting.then(
      () => "succeeded",
      ({ signal }: { signal?: string }) => signal,
    );
    let isOver = false;
    ended.finally(() => {
      isOver = true;
    });
    await waitUntil(async () => isOver || (await listNames(home)).some((name) => name.startsWith("data.new-")));
    starting.kill("SIGKILL");
    const how = await ended;
    if (how === "SIGKILL") return { directory, home };
    if (how !== "succeeded") throw new Error(`The start ended with ${how}`);
    await clusterIn(directory).stop();
  }
}

test("a start that was killed while it created the cluster does not hinder the next one", async () => {
  const { directory, home } = await killedStart();
  const cluster = clusterIn(directory);
  expect((await cluster.start()).running).toBe(true);
  // What the orphaned initdb was still writing goes away with the next start after it has ended.
  await cluster.stop();
  await waitUntil(async () => {
    await cluster.stop();
    await cluster.start();
    return (await listNames(home)).every((name) => !name.startsWith("data.new-"));
  });
});

describe("a cluster in a directory whose path is longer than a socket's may be", async () => {
  const directory = join(await createDirectory(), "long, and with spaces/".padEnd(200, "x"));
  await mkdir(directory, { recursive: true });
  const cluster = clusterIn(directory);
  const { host } = cluster.connection("postgres");

  test("another user's directory or link at the socket's place is refused", async () => {
    const elsewhere = await createDirectory();
    await symlink(elsewhere, host);
    await expect(cluster.start()).rejects.toThrow(`${host} is in the way`);
    await rm(host);
    await mkdir(host, { mode: 0o777 });
    await chmod(host, 0o777);
    await expect(cluster.start()).rejects.toThrow(`${host} is in the way`);
    await rm(host, { recursive: true });
  });

  test("works, with a socket in a short place that is closed to others and gone after a stop", async () => {
    const { url } = await cluster.start();
    expect(host.length).toBeLessThan(90);
    expect((await stat(host)).mode & 0o777).toBe(0o700);
    expect(await ask(cluster.connection("postgres"), "select 1")).toBe(1);
    expect(new URL(url).hostname).toBe(encodeURIComponent(host));
    await cluster.stop();
    expect(existsSync(host)).toBe(false);
  });
});

test("a cluster works under umask 077", async () => {
  const directory = await createDirectory();
  const cluster = clusterIn(directory);
  await inProcess(directory, "start", { umask: 0o077 });
  expect(await ask(cluster.connection("postgres"), "select 1")).toBe(1);
});

describe("run by root", () => {
  const why = "needs root: it is about what root's unprivileged server can reach";

  test("a cluster in a directory closed to others keeps its files where its server can read them", async ({ skip }) => {
    skip(!isRoot, why);
    const base = await createDirectory();
    const directory = join(base, "closed/project");
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const cluster = clusterIn(directory, { systemDir: join(base, "system") });
    const { dataDir } = await cluster.start();
    expect(dirname(dirname(dataDir))).toBe(join(base, "system/clusters"));
    expect(await realpath(join(directory, ".pmctl/postgres/data"))).toBe(dataDir);
    expect((await stat(dataDir)).uid).not.toBe(0);
    await cluster.stop();
    expect((await cluster.start()).dataDir).toBe(dataDir);
  });

  test("a cluster whose directory is closed later moves with its data to where the server can read it", async ({
    skip,
  }) => {
    skip(!isRoot, why);
    const base = await createDirectory();
    const directory = join(base, "project");
    await mkdir(directory);
    const cluster = clusterIn(directory, { systemDir: join(base, "system") });
    expect((await cluster.start()).dataDir).toBe(join(directory, ".pmctl/postgres/data"));
    await keepAnswer(cluster);
    await cluster.stop();
    await chmod(directory, 0o700);
    expect((await cluster.start()).dataDir).toContain(join(base, "system/clusters"));
    expect(await keptAnswer(cluster)).toBe(42);
  });

  test("packages in a closed directory, installed without their scripts, stay as they are and run from a copy", async ({
    skip,
  }) => {
    skip(!isRoot, why);
    const base = await createDirectory();
    const packageRoot = join(base, "closed/package");
    await mkdir(dirname(packageRoot), { mode: 0o700 });
    // npm's tarballs hold no links; the package's postinstall script would have made them.
    const filter = async (path: string) => !(await lstat(path)).isSymbolicLink();
    await cp(findPackage(), packageRoot, { recursive: true, filter });
    const files = await readdir(packageRoot, { recursive: true });
    const cluster = clusterIn(base, { packageRoot, systemDir: join(base, "system") });
    expect((await cluster.start()).running).toBe(true);
    const [program] = (await readFile(`/proc/${await serverPid(cluster)}/cmdline`, "utf8")).split("\0");
    expect(program).toMatch(join(base, ".pmctl/postgres-18"));
    expect(await readdir(packageRoot, { recursive: true })).toEqual(files);
  });

  test("copies lie outside an operator's directory that the server cannot reach, or in which another user could replace them", async ({
    skip,
  }) => {
    skip(!isRoot, why);
    const base = await createDirectory();
    const account = { uid: nobody, gid: nobody, isCaller: false };
    const placeOf = async (name: string, owner: number, mode: number) => {
      const root = join(base, name, ".pmctl");
      await mkdir(root, { recursive: true });
      await chown(root, owner, owner);
      await chmod(root, mode);
      const place = await copiesDirectory(findSite(join(base, name)), account, join(base, "system"));
      return place === root ? "inside" : place.slice(base.length);
    };
    expect(await placeOf("open", 0, 0o711)).toBe("inside");
    expect(await placeOf("closed", 0, 0o700)).toBe("/system");
    expect(await placeOf("theirs", nobody, 0o711)).toBe("/system");
    expect(await placeOf("shared", 0, 0o777)).toBe("/system");
  });

  test("an ordinary user's cluster is theirs, and stays theirs when root starts and stops it", async ({ skip }) => {
    skip(!isRoot, "needs root, to become an ordinary user");
    const directory = await createDirectory();
    await chown(directory, nobody, nobody);
    const user = { uid: nobody, gid: nobody };
    const probe = await execa(process.execPath, ["--eval", `import(${JSON.stringify(clusterModule)})`], {
      ...{ ...user, cwd: "/", reject: false },
    });
    skip(probe.failed, `another user cannot read this checkout or run ${process.execPath}`);
    const cluster = clusterIn(directory);
    const status = JSON.parse((await inProcess(directory, "start", user)).stdout) as ClusterStatus;
    expect(status).toEqual(await cluster.status());
    expect((await stat(status.dataDir)).uid).toBe(nobody);
    expect((await stat(join(directory, ".pmctl"))).mode & 0o777).toBe(0o700);
    expect(await cluster.stop()).toBe(true);
    await cluster.start();
    expect((await inProcess(directory, "stop", user)).stdout).toBe("true");
    await inProcess(directory, "start", user);
    expect((await cluster.status()).running).toBe(true);
  });
});
