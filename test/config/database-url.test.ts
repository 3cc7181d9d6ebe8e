import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { resolveTenant } from "../../src/config/resolve-tenant.ts";
import { complaints, configErrorOf, directoryWith, parse, tenantText } from "./support.ts";

const ENVIRONMENT = {
  ACME_ADMIN_KEY: `sk_${"a".repeat(43)}`,
  ACME_PUBLIC_KEY: `pk_${"b".repeat(43)}`,
  ACME_JWT_SECRET: "c".repeat(32),
  ACME_AUDIT_KEY: "d".repeat(32),
  ACME_DATABASE_PASSWORD: "p@ss:/?#word",
  ACME_HOST: "b.example:6432",
};

function resolved(database: string, environment: Record<string, string> = {}, directory = directoryWith()) {
  const config = parse(tenantText({ database }), join(directory, "tenants/acme/tenant.yaml"));
  return resolveTenant(config, { ...ENVIRONMENT, ...environment }).databaseUrl;
}

describe("database.url", () => {
  test("in parts, some of them secrets, is one connection string", () => {
    const parts = `{ url: { hosts: [a.example, { env: ACME_HOST }, "[::1]:1"], user: app, name: "mar/kets",
      password: { env: ACME_DATABASE_PASSWORD }, parameters: { target_session_attrs: read-write, sslmode: require } } }`;
    const operator = `version: 1\nsecrets: { destinations: { "env ACME_DATABASE_PASSWORD": ["a.example:5432?sslmode=require", "b.example:6432?sslmode=require"] } }`;
    expect(resolved(parts, {}, directoryWith({ "pmctl.yaml": operator }))).toBe(
      "postgres://app:p%40ss%3A%2F%3F%23word@a.example:5432,b.example:6432,[::1]:1/mar%2Fkets?target_session_attrs=read-write&sslmode=require",
    );
  });

  test.each(["nonsense", "postgres://db:99999/acme", "http://db/acme", "postgres://u:p%ZZ@db/acme", "host=db"])(
    "a malformed address is told with file, line and variable, and not shown: %s",
    (address) => {
      const error = configErrorOf(() =>
        resolved("{ url: { env: ACME_DATABASE_URL } }", { ACME_DATABASE_URL: address }),
      );
      expect(error.code).toBe("CONFIG_INVALID");
      expect(error.message).toMatch(
        /tenant\.yaml:\d+:\d+ {2}database\.url {2}the connection string in env ACME_DATABASE_URL must/,
      );
      expect(error.message).not.toContain(address);
    },
  );

  describe("with a host from a variable", () => {
    const stated = (parameters: string, secret = "password: { env: ACME_DATABASE_PASSWORD }") =>
      `{ url: { hosts: [{ env: ACME_HOST }], name: db, ${secret}, parameters: { ${parameters} } } }`;
    const granted = (host: string) =>
      directoryWith({
        "pmctl.yaml": `version: 1\nsecrets: { destinations: { "env ACME_DATABASE_PASSWORD": ["${host}"] } }`,
      });

    test.each([
      ["", "prefer"],
      ["sslmode: disable", "disable"],
      ["sslmode: verify-ca", "verify-ca"],
      ["sslmode: { file: mode }", "disable"],
      ["sslmode: verify-full, sslrootcert: root.pem", "require"],
    ])("and the file's parameters '%s' needs an entry of the operator for sslmode %s", (parameters, sslmode) => {
      const error = configErrorOf(() =>
        resolved(
          stated(parameters),
          {},
          directoryWith({ "tenants/acme/mode": "require", "tenants/acme/root.pem": "" }),
        ),
      );
      expect(error.message).toContain(
        `the host in ACME_HOST, verified only with sslmode=${sslmode}, which this file decides`,
      );
      expect(error.message).toContain(`"env ACME_DATABASE_PASSWORD": ["HOST:PORT?sslmode=${sslmode}"]`);
      expect(error.message).not.toContain("b.example");
    });

    test("is connected as the operator's entry or variable says, and checked wholly or on this machine without either", () => {
      for (const host of ["b.example:6432?sslmode=require", "b.example:6432?sslmode=disable"])
        expect(resolved(stated("sslmode: require"), {}, granted(host))).toContain("sslmode=require");
      for (const host of ["b.example:6432?sslmode=verify-ca", "b.example:6432", "a.example:6432?sslmode=disable"])
        expect(configErrorOf(() => resolved(stated("sslmode: require"), {}, granted(host))).message).toContain(
          "ACME_HOST",
        );
      expect(resolved(stated("sslmode: verify-full"))).toContain("sslmode=verify-full");
      expect(resolved(stated("sslmode: { env: ACME_MODE }"), { ACME_MODE: "require" })).toContain("sslmode=require");
      for (const ACME_HOST of ["127.0.0.1", "localhost:6432", "/run/postgresql"])
        expect(resolved(stated("sslmode: disable"), { ACME_HOST })).toContain("sslmode=disable");
    });

    test("is this machine as localhost or an address of the loopback, and by no other name below localhost", () => {
      for (const ACME_HOST of ["db.localhost", "127.0.0.999:6432"])
        expect(configErrorOf(() => resolved(stated("sslmode: require"), { ACME_HOST })).message).toContain(
          "the host in ACME_HOST, verified only with sslmode=require",
        );
    });

    test("has no secret of its own but the host: nothing is told that an entry could allow", () => {
      expect(resolved(stated("sslmode: require", "user: app"))).toContain("b.example:6432");
    });
  });

  describe("with a password", () => {
    const url = (query: string, host = "db.example:5432") => `postgres://app:hunter2@${host}/acme${query}`;
    const read = (ACME_DATABASE_URL: string, operator?: string) =>
      resolved(
        "{ url: { env: ACME_DATABASE_URL } }",
        { ACME_DATABASE_URL },
        directoryWith(operator === undefined ? {} : { "pmctl.yaml": operator }),
      );
    const allowed = (host: string) => `version: 1\nsecrets: { destinations: { "env ACME_DATABASE_URL": ["${host}"] } }`;

    test.each(["", "?sslmode=disable", "?sslmode=allow", "?sslmode=prefer"])(
      "that would travel to another machine without TLS is refused before anything is connected: '%s'",
      (query) => {
        for (const host of ["db.example:5432", "127.0.0.1:1,10.0.0.7:5432"]) {
          const error = configErrorOf(() => read(url(query, host)));
          expect(error).toMatchObject({ code: "CONFIG_INVALID", exitCode: 6 });
          expect(error.message).toMatch(
            /tenant\.yaml:\d+:\d+ {2}database\.url {2}the password in env ACME_DATABASE_URL/,
          );
          expect(error.message).toContain('"env ACME_DATABASE_URL": ["HOST:PORT?sslmode=disable"]');
          expect(error.message).not.toMatch(/hunter2|db\.example|10\.0/);
        }
      },
    );

    test("travels over TLS, to this machine, or to the hosts that pmctl.yaml allows", () => {
      for (const query of ["?sslmode=require", "?sslmode=verify-ca", "?sslmode=verify-full"])
        expect(read(url(query))).toContain("hunter2");
      for (const host of ["127.0.0.1:5432", "localhost", "[::1]:1", "%2Frun%2Fpostgresql"])
        expect(read(url("?sslmode=disable", host))).toContain("hunter2");
      expect(read(url("?sslmode=disable"), allowed("db.example:5432?sslmode=disable"))).toContain("hunter2");
      for (const entry of ["db.example:5432", "db.example:5432?sslmode=require", "other.example:5432?sslmode=disable"])
        expect(() => read(url("?sslmode=disable"), allowed(entry))).toThrow(/without TLS/);
    });
  });

  test("finds its certificates from the tenant's folder", () => {
    const directory = directoryWith({ "tenants/acme/root.pem": "" });
    const url = "postgres://a/db?sslmode=verify-full&sslrootcert=root.pem";
    const file = encodeURIComponent(join(directory, "tenants/acme/root.pem"));
    expect(resolved("{ url: { env: ACME_DATABASE_URL } }", { ACME_DATABASE_URL: url }, directory)).toBe(
      `postgres://a:5432/db?sslmode=verify-full&sslrootcert=${file}`,
    );
  });

  test("refuses a pipe, a device and a file elsewhere as certificates at once, with file, line and nothing of the content", () => {
    const outside = directoryWith({ "root.pem": "" });
    const directory = directoryWith({ "tenants/acme/large.pem": Buffer.alloc(1024 * 1024 + 1) });
    const pipe = join(directory, "tenants/acme/pipe");
    execFileSync("mkfifo", [pipe]);
    symlinkSync("/dev/zero", join(directory, "tenants/acme/zero"));
    const stated = (root: string) =>
      `{ url: { hosts: [a.example], name: db, parameters: { sslmode: verify-full, sslrootcert: ${root} } } }`;
    for (const [root, problem] of [
      ["pipe", "is not a file"],
      ["zero", "leads out of the tenant's folder"],
      ["/etc/shadow", "leads out of the tenant's folder"],
      [join(outside, "root.pem"), "leads out of the tenant's folder"],
      ["large.pem", "is larger than 1024 KiB"],
      ["none.pem", "does not exist"],
    ] as const)
      expect(configErrorOf(() => resolved(stated(root), {}, directory)).message).toMatch(
        new RegExp(`tenant\\.yaml:\\d+:\\d+ {2}database\\.url {2}must have a readable sslrootcert: it ${problem}`),
      );
    const byVariable = (ACME_ROOT: string) => resolved(stated("{ env: ACME_ROOT }"), { ACME_ROOT }, directory);
    expect(byVariable(join(outside, "root.pem"))).toContain("sslrootcert=");
    for (const path of [pipe, "/dev/zero"])
      expect(configErrorOf(() => byVariable(path)).message).toContain("it is not a file");
    writeFileSync(join(directory, "pmctl.yaml"), `version: 1\nsecrets: { files: [${outside}] }`);
    expect(resolved(stated(join(outside, "root.pem")), {}, directory)).toContain("sslrootcert=");
  });

  test.each([
    "mysql://hidden/db",
    "postgres://hidden:x/db",
    "postgres://a,,hidden/db",
    "postgres://hidden",
    "postgres://a/db?hidden=1",
    "postgres://a/db?sslmode=verify-ca&sslrootcert=hidden.pem",
  ])("is refused as %s, by the variable's name and nothing of the value", (url) => {
    const error = configErrorOf(() => resolved("{ url: { env: ACME_DATABASE_URL } }", { ACME_DATABASE_URL: url }));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining("ACME_DATABASE_URL must") });
    expect(error.message).not.toContain("hidden");
  });

  test("of bad parts is refused at the part, by a secret's name and nothing of its value", () => {
    const parts = "{ url: { hosts: [a, { env: ACME_HOST }], name: db } }";
    const error = configErrorOf(() => resolved(parts, { ACME_HOST: "hidden:0" }));
    expect(error.message).toContain("database.url.hosts[1]  the value in env ACME_HOST must have ports");
    expect(error.message).not.toContain("hidden");
    const stated = (url: string) => complaints({ database: `{ url: ${url} }` });
    expect(stated('{ hosts: ["a:65536"], name: db, parameters: { sslmode: on_ } }')).toEqual([
      "database.url.hosts[0]: must have ports from 1 to 65535",
      expect.stringMatching(/^database.url.parameters.sslmode: must .*verify-full$/),
    ]);
    expect(stated("{ hosts: [a], name: db, password: hidden }")).toEqual([
      expect.stringMatching(/^database.url.password: must be a reference/),
    ]);
    expect(stated("{ hosts: [a], name: db, parameters: { options: x } }")).toEqual([
      expect.stringContaining("unknown key"),
    ]);
    expect(stated("{ hosts: [], name: db }")).toEqual([expect.stringContaining("database.url.hosts")]);
    expect(stated("{ hosts: [a] }")).toEqual(["database.url.name: is required"]);
  });
});
