import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import postgres from "postgres";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import { serverLogin } from "../../src/postgres/embedded/settings.ts";
import { ask, clusterIn, createDirectory, endClusters, serverPid } from "./embedded-support.ts";

afterAll(endClusters);

const driver = new URL("../../node_modules/postgres/src/index.js", import.meta.url).href;
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log("skipped: another Unix user tries to connect (only root can become one)");

const LOGINS = ["pmctl", serverLogin("acme"), "postgres"];
const refused = expect.objectContaining({ code: expect.stringMatching(/^28/) });

/**
 * Tries to connect as another Unix user. Resolves to the error's code, or to the name that the connection got. The program becomes
 * that user once it is loaded: a checkout in a folder that only its owner may enter holds nothing that another user can start.
 */
async function connectAs(user: string, connection: ClusterConnection): Promise<string> {
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await execa("id", [flag, user])).stdout)),
  );
  const script = `
    import postgres from ${JSON.stringify(driver)};
    process.setgroups([${gid}]);
    process.setgid(${gid});
    process.setuid(${uid});
    const sql = postgres({ ...${JSON.stringify(connection)}, max: 1, connect_timeout: 5 });
    const answer = await sql\`select current_user as name\`.then(([row]) => row.name, (error) => error.code);
    process.stdout.write(answer);
    process.exit(0);`;
  const args = ["--input-type=module", "--eval", script];
  return (await execa(process.execPath, args, { cwd: "/" })).stdout;
}

describe("access to an embedded cluster", async () => {
  const directory = await createDirectory();
  const cluster = clusterIn(directory);
  const { dataDir, host } = await cluster.start("acme");
  await cluster.createDatabase("acme");

  test("is by peer authentication on the socket only; every other way is refused", async () => {
    const rules = (await readFile(join(dataDir, "pg_hba.conf"), "utf8")).split("\n");
    expect(rules.filter((line) => line !== "" && !line.startsWith("#"))).toEqual(["local all all peer map=pmctl"]);
  });

  test("the operator connects as the owner and as the server, and not as the superuser", async () => {
    expect(await ask(cluster.connection("acme"), "select current_user::text")).toBe("pmctl");
    const server = cluster.connection("acme", serverLogin("acme"));
    expect(await ask(server, "select session_user::text")).toBe(serverLogin("acme"));
    await expect(ask(cluster.connection("acme", "postgres"), "select 1")).rejects.toEqual(refused);
  });

  test("the server's login is a member of nothing and may create nothing", async () => {
    const role = `
      select concat_ws(' ', rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
                       (select count(*) from pg_auth_members where member = r.oid))
        from pg_roles r where rolname = '${serverLogin("acme")}'`;
    expect(await ask(cluster.connection("acme"), role)).toBe("f f f f f 0");
  });

  test.each(["postgres", "template1"])("the server's login cannot connect to the database %s", async (database) => {
    await expect(ask(cluster.connection(database, serverLogin("acme")), "select 1")).rejects.toEqual(
      expect.objectContaining({ code: "42501" }),
    );
  });

  test.runIf(isRoot)("another Unix user cannot connect, the one that the database runs as included", async () => {
    // As if the socket's directory stood open: what refuses is the server itself.
    await chmod(host, 0o755);
    await chmod(join(host, ".s.PGSQL.5432"), 0o777);
    for (const user of ["postgres", "nobody"])
      for (const login of LOGINS)
        expect([user, login, await connectAs(user, cluster.connection("acme", login))]).toEqual([user, login, "28000"]);
    await chmod(host, 0o700);
  });

  test("a cluster of an older pmctl, which trusts, is converted without losing a connection", async () => {
    const superuser = cluster.connection("postgres", "postgres");
    await trustEveryone();
    process.kill(await serverPid(cluster), "SIGHUP");
    await vi.waitFor(() => ask(superuser, "grant connect on database postgres, template1 to public"), {
      timeout: 60_000,
    });
    const kept = postgres({ ...cluster.connection("acme"), max: 1, max_lifetime: null });
    const [before] = await kept`select pg_backend_pid() as pid`;

    expect((await cluster.start("acme")).running).toBe(true);
    await vi.waitFor(() => expect(ask(superuser, "select 1")).rejects.toEqual(refused), { timeout: 60_000 });
    expect(await kept`select pg_backend_pid() as pid`).toEqual([before]);
    await kept.end();
    await expect(ask(cluster.connection("template1", serverLogin("acme")), "select 1")).rejects.toEqual(
      expect.objectContaining({ code: "42501" }),
    );
    expect(await readdir(dataDir)).not.toContain("pg_hba.conf.new");

    // A second start finds nothing to do.
    const pid = await serverPid(cluster);
    await cluster.start("acme");
    expect(await serverPid(cluster)).toBe(pid);
  });

  test("a stopped cluster of an older pmctl is converted at its start", async () => {
    await cluster.stop();
    await trustEveryone();
    await cluster.start();
    await vi.waitFor(() => expect(ask(cluster.connection("acme", "postgres"), "select 1")).rejects.toEqual(refused), {
      timeout: 60_000,
    });
    expect(await ask(cluster.connection("acme"), "select current_user::text")).toBe("pmctl");
  });

  /** Rules by another hand. */
  async function trustEveryone(): Promise<void> {
    await writeFile(join(dataDir, "pg_hba.conf"), "local all all trust\nlocal replication all trust\n");
    await writeFile(join(dataDir, "pg_ident.conf"), "");
  }
});
