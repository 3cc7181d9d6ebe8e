import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, readdir, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completeProgram } from "../../src/cli/program.ts";
import { tenantText } from "../config/support.ts";
import { type DeployDirectory, deployDirectory, documentsIn, NODES } from "./support.ts";

let directory: DeployDirectory;
beforeAll(async () => {
  directory = await deployDirectory();
});
afterAll(() => directory.remove());

const TARGETS = [
  ["systemd", []],
  ["compose", []],
  ["kubernetes", []],
  ["patroni", ["--nodes", NODES]],
] as const;

/** Masks the resolved tenant file, which changes with every new field of the schema and has a test of its own. */
const withoutResolved = (text: string) =>
  text
    .replace(/^# Written by .*\n/, "")
    .replace(/checksum\/config: \w+/, "checksum/config: DIGEST")
    .replace(/^ {2}tenant\.yaml: \|\n(( {4}.*)?\n)+/m, "  tenant.yaml: RESOLVED\n");

describe.each(TARGETS)("deploy render --target %s", (target, extra) => {
  const render = (...args: string[]) =>
    directory.render("--target", target, "--image", "registry.acme.example/pmctl:1.2.3", ...extra, ...args);

  test("writes the same bytes from the same input, and says what it created", async () => {
    const first = await render("--out", "first");
    const second = await render("--out", "second");
    expect([first.code, second.code, first.code === 0 ? "" : first.stderr]).toEqual([0, 0, ""]);
    const states = JSON.parse(first.stdout) as { path: string; state: string }[];
    const names = await readdir(join(directory.cwd, "first"));
    expect(states.map(({ path }) => path).toSorted()).toEqual(names.map((name) => `first/${name}`).toSorted());
    expect(new Set(states.map(({ state }) => state))).toEqual(new Set(["created"]));
    for (const name of names)
      expect(await directory.read(`second/${name}`)).toBe(await directory.read(`first/${name}`));
    for (const name of names)
      await expect(withoutResolved(await directory.read(`first/${name}`))).toMatchFileSnapshot(
        `golden/${target}/${name}`,
      );
    for (const each of ["first", "second"]) await rm(join(directory.cwd, each), { recursive: true });
  });

  test("--check writes nothing and ends with 3 on a difference; what was changed by hand is written only with --yes", async () => {
    const fresh = await render("--check");
    expect(fresh.code).toBe(3);
    await expect(readdir(join(directory.cwd, "deploy", target))).rejects.toThrow("ENOENT");
    expect((await render()).code).toBe(0);
    expect(await render("--check")).toMatchObject({
      code: 0,
      stdout: expect.not.stringMatching(/"(created|changed)"/),
    });

    const [file = ""] = (await readdir(join(directory.cwd, "deploy", target))).toSorted();
    const path = join("deploy", target, file);
    const before = await directory.read(path);
    await appendFile(join(directory.cwd, path), "# a line of somebody\n");
    expect(await render()).toMatchObject({ code: 3, stderr: expect.stringContaining(file) });
    expect(await directory.read(path)).toContain("a line of somebody");
    expect((await render("--check")).code).toBe(3);
    expect((await render("--yes")).code).toBe(0);
    expect(await directory.read(path)).toBe(before);
  });

  test("an input that changed changes files that no person has touched", async () => {
    await render();
    const other = target === "patroni" ? ["--nodes", "a=10.0.0.9,b=10.0.0.2,c=10.0.0.3"] : ["--dir", "/opt/pmctl"];
    const { code, stdout } = await render(...other);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toContainEqual({ path: expect.any(String), state: "changed" });
  });
});

describe("deploy render", () => {
  test.each([
    [["--target", "nomad"]],
    [[]],
    [["--target", "patroni"]],
    [["--target", "patroni", "--nodes", "a"]],
    [["--target", "patroni", "--nodes", "a=10.0.0.1,a=10.0.0.2"]],
    [["--target", "compose", "--nodes", NODES]],
    [["--target", "systemd", "--bin", "pmctl"]],
    [["--target", "systemd", "--dir", "/srv/p m\nExecStart=/bin/sh"]],
    [["--target", "compose", "--image", "pmctl: 1"]],
  ])("%j is refused with 6, and writes nothing", async (args) => {
    const { code, stdout } = await directory.render("--out", "refused", ...args);
    expect([code, stdout]).toEqual([6, ""]);
    await expect(readdir(join(directory.cwd, "refused"))).rejects.toThrow("ENOENT");
  });

  test("takes tenants by name and by label, names files that it no longer renders, and ends with 5 for no match", async () => {
    expect((await directory.render("--target", "systemd", "--out", "some")).code).toBe(0);
    const { stdout, stderr } = await directory.render("--target", "systemd", "--out", "some", "-l", "tier=gold");
    expect(stdout).toContain("pmctl-acme.service");
    expect(stdout).not.toContain("pmctl-no.service");
    expect(stderr).toContain("some/pmctl-no.service is no longer rendered; delete it");
    expect((await directory.render("--target", "systemd", "-l", "tier=none")).code).toBe(5);
    expect((await directory.render("nobody", "--target", "systemd")).code).toBe(5);
  });

  test("refuses a tenant whose file would have the name of another", async () => {
    const other = await deployDirectory({
      "tenants/database/tenant.yaml": (await directory.read("tenants/no/tenant.yaml")).replace('"no"', "database"),
      "pmctl.yaml": "version: 1\nsecrets: { env: [NO_*] }\n",
    });
    expect(await other.render("--target", "kubernetes")).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("database.yaml"),
    });
    await other.remove();
  });

  test("Compose's containers may do nothing beyond their work, start in order, and find no secret in the file", async () => {
    await directory.render("--target", "compose", "--yes");
    const text = await directory.read("deploy/compose/compose.yaml");
    const { services } = documentsIn(text)[0];
    expect(Object.keys(services)).toEqual(["postgres", "acme", "no"]);
    expect(services.postgres.image).toBe("postgres:18");
    for (const service of Object.values<Record<string, unknown>>(services))
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        user: expect.not.stringMatching(/^(root|0)\b/),
        healthcheck: { test: expect.arrayContaining(["CMD"]) },
      });
    for (const tenant of ["acme", "no"]) {
      expect(services[tenant].depends_on).toEqual({ postgres: { condition: "service_healthy" } });
      expect(new Set(Object.values(services[tenant].environment))).toEqual(new Set([null]));
    }
    expect([services.acme.stop_grace_period, services.no.stop_grace_period]).toEqual(["37s", "30s"]);
    expect(services.acme.environment).not.toHaveProperty("ACME_OWNER_URL");
  });

  test("a server finds its tenant's folder and the files that its tenant's file builds on, and of other tenants nothing", async () => {
    const other = await deployDirectory({
      "tenants/acme/tenant.yaml": tenantText({
        extends: "../base.yaml",
        server: "{ expected: true }",
        audit: "{ key: { file: ../../shared/audit } }",
      }),
      "tenants/base.yaml": "labels: { tier: gold }\n",
      "tenants/bolt/tenant.yaml": tenantText({
        tenant: "bolt",
        server: "{ expected: true }",
        audit: "{ key: { file: secrets/audit } }",
      }),
      "pmctl.yaml": "version: 1\nsecrets: { files: [shared], env: [ACME_*] }\ntenants: { bolt: { env: [] } }\n",
    });
    const bolt = join(other.cwd, "tenants/bolt/tenant.yaml");
    await writeFile(bolt, (await other.read("tenants/bolt/tenant.yaml")).replaceAll("ACME_", "BOLT_"));
    expect(await other.render("--target", "compose")).toMatchObject({ code: 0 });
    const { services } = documentsIn(await other.read("deploy/compose/compose.yaml"))[0];
    const bound = (tenant: string) => services[tenant].volumes.map(({ target }: { target: string }) => target);
    expect(bound("acme")).toEqual(
      ["tenants/acme", "shared/audit", "tenants/base.yaml", "pmctl.yaml"].map((path) => `/srv/pmctl/${path}`),
    );
    expect(bound("bolt")).toEqual(["/srv/pmctl/tenants/bolt", "/srv/pmctl/pmctl.yaml"]);
    expect(await other.render("--target", "systemd")).toMatchObject({ code: 0 });
    for (const unit of ["pmctl-acme.service", "pmctl-backup-acme.service"]) {
      const text = await other.read(`deploy/systemd/${unit}`);
      expect(text).toContain("\nTemporaryFileSystem=/srv/pmctl/tenants:ro\n");
      expect(text).toContain("\nBindReadOnlyPaths=/srv/pmctl/tenants/acme /srv/pmctl/tenants/base.yaml\n");
    }
    await other.remove();
  });

  test("a tenant that insists on more standbys than the rendered database has is told of", async () => {
    const other = await deployDirectory({
      "tenants/acme/tenant.yaml": tenantText({
        server: "{ expected: true }",
        database: "{ url: { env: ACME_DATABASE_URL }, require: { synchronousStandbys: 1 } }",
      }),
    });
    const line = "acme: database.require.synchronousStandbys is 1 and this deployment's database has no standby";
    expect(await other.render("--target", "compose")).toMatchObject({ code: 0, stderr: expect.stringContaining(line) });
    for (const target of [["kubernetes"], ["patroni", "--nodes", NODES]])
      expect((await other.render("--target", ...target)).stderr).not.toContain("synchronousStandbys");
    await other.remove();
  });

  test("a backup listens nowhere: it has no capability, whatever the server's port", async () => {
    await directory.render("--target", "systemd", "--yes");
    expect(await directory.read("deploy/systemd/pmctl-no.service")).toContain("=CAP_NET_BIND_SERVICE\n");
    const backup = await directory.read("deploy/systemd/pmctl-backup-no.service");
    expect(backup).toContain("\nCapabilityBoundingSet=\nAmbientCapabilities=\n");
    expect(backup).toContain("\nPrivateUsers=yes\n");
  });

  test("what the rendered servers are told are options of serve, and of apply", async () => {
    await directory.render("--target", "compose", "--yes");
    await directory.render("--target", "kubernetes", "--yes");
    const { services } = documentsIn(await directory.read("deploy/compose/compose.yaml"))[0];
    const pods = documentsIn(await directory.read("deploy/kubernetes/acme.yaml")).find(
      ({ kind }) => kind === "Deployment",
    ).spec.template.spec;
    const program = await completeProgram();
    const globals = program.options.map(({ long }) => long);
    for (const [name = "", ...args] of [services.acme.command, pods.containers[0].args, pods.initContainers[0].args]) {
      const command = program.commands.find((each) => each.name() === name);
      const { operands, unknown } = command?.parseOptions(args) ?? { operands: [], unknown: ["no such command"] };
      expect([operands[0], unknown.filter((word) => word.startsWith("--") && !globals.includes(word))]).toEqual([
        "acme",
        [],
      ]);
    }
  });
});

const present = (program: string) =>
  (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
const run = (program: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", cwd: directory.cwd });
  return { status, said: `${stdout}${stderr}` };
};
const filesOf = async (target: string) =>
  (await readdir(join(directory.cwd, "deploy", target))).map((name) => join(directory.cwd, "deploy", target, name));

describe("programs that read the files (skipped where they are not installed)", () => {
  test.skipIf(!present("systemd-analyze"))(
    "systemd-analyze verifies the units silently, and scores each service at 2.0 or less",
    async () => {
      // A program that is there.
      expect((await directory.render("--target", "systemd", "--bin", "/usr/bin/install", "--yes")).code).toBe(0);
      const units = (await filesOf("systemd")).filter((file) => !file.endsWith(".conf"));
      expect(run("systemd-analyze", "verify", ...units)).toEqual({ status: 0, said: "" });
      for (const unit of units.filter((file) => file.endsWith(".service"))) {
        const { said } = run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit);
        expect(Number(/exposure level for .*: ([\d.]+)/.exec(said)?.[1])).toBeLessThanOrEqual(2);
      }
    },
  );

  test.skipIf(!present("kubectl"))("kubectl kustomize builds the manifests", async () => {
    await directory.render("--target", "kubernetes", "--yes");
    const { status, said } = run("kubectl", "kustomize", "deploy/kubernetes");
    expect(status).toBe(0);
    expect(documentsIn(said)).toHaveLength(13);
  });

  test.skipIf(spawnSync("docker", ["compose", "version"]).status !== 0)("docker compose accepts the file", async () => {
    await directory.render("--target", "compose", "--yes");
    expect(run("docker", "compose", "-f", "deploy/compose/compose.yaml", "config", "--quiet")).toMatchObject({
      status: 0,
    });
  });

  test.skipIf(!present("pgbackrest"))("pgbackrest reads its configuration", async () => {
    await directory.render("--target", "systemd", "--yes");
    const config = join(directory.cwd, "deploy/systemd/pgbackrest.conf");
    const { said } = run("pgbackrest", `--config=${config}`, "--stanza=pmctl", "--log-level-file=off", "info");
    expect(said).toMatch(/stanza: pmctl/);
    expect(said).not.toMatch(/WARN|ERROR/);
  });

  test.skipIf(!present("patroni"))("patroni finds nothing but this machine to be wrong", async () => {
    // Loopback addresses that refuse at once. What they complain of is what this machine lacks.
    await directory.render("--target", "patroni", "--nodes", "a=127.0.0.2,b=127.0.0.3,c=127.0.0.4", "--yes");
    const { said } = run("patroni", "--validate-config", "deploy/patroni/patroni-a.yaml");
    const complaints = said
      .split("\n")
      .filter((line) => line !== "" && !/already in use|not reachable|does not exist/.test(line));
    expect(complaints).toEqual([]);
  });

  test.skipIf(!present("etcd"))("etcd reads its configuration, and goes on to listen", async () => {
    await directory.render("--target", "patroni", "--nodes", "a=192.0.2.1,b=192.0.2.2,c=192.0.2.3", "--yes");
    const { said } = run("timeout", "5", "etcd", "--config-file", "deploy/patroni/etcd-a.yaml");
    expect(said).toMatch(/listen tcp 192\.0\.2\.1:2380: bind/);
  });
});
