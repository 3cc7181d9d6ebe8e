import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { resolveSecret } from "../../src/config/secrets/secrets.ts";
import { loadTenant } from "../../src/config/tenant-file.ts";
import { PRESETS } from "../../src/domain/feeds/presets.ts";
import { configErrorOf, directoryWith, tenantText } from "./support.ts";

const SOURCE = "price: { pointer: /p }, time: { pointer: /t, unit: s }";

/** The complaints about a tenant `acme`, with its operator's file and whatever else there is. */
function complaints(sections: Record<string, string>, operator?: string, files: Record<string, string> = {}): string[] {
  const directory = directoryWith({
    "tenants/acme/tenant.yaml": tenantText(sections),
    ...(operator === undefined ? {} : { "pmctl.yaml": operator }),
    ...files,
  });
  return complaintsIn(directory);
}

function complaintsIn(directory: string): string[] {
  try {
    loadTenant(join(directory, "tenants/acme/tenant.yaml"));
    return [];
  } catch {
    const error = configErrorOf(() => loadTenant(join(directory, "tenants/acme/tenant.yaml")));
    expect([error.code, error.exitCode]).toEqual(["CONFIG_INVALID", 6]);
    return error.problems.map(
      ({ file, line, column, path, message }) =>
        `${file.replace(`${directory}/`, "")}:${line}:${column} ${path}: ${message}`,
    );
  }
}

const granted = (grants: string) => `version: 1\nsecrets: { ${grants} }\n`;
const audit = (reference: string) => ({ audit: `{ key: ${reference} }` });
const source = (reference: string, url = "https://prices.acme.example/{id}") => ({
  oracle: `{ sources: { house: { url: "${url}", headers: { authorization: ${reference} }, ${SOURCE} } } }`,
});

describe("pmctl.yaml", () => {
  test("need not be there, and says nothing when it states nothing", () => {
    for (const text of [undefined, "version: 1\n", granted(""), "version: 1\ntenants: { acme: {} }\n"])
      expect(complaints({}, text)).toEqual([]);
  });

  test("is read as the contract has it", () => {
    const text = `version: 1
secrets:
  env: [FEED_TOKEN, "SHARED_*"]          # beyond the tenant's own prefix
  files: [/run/secrets]                  # roots beyond the tenant's folder
  destinations: { "env ACME_FEED_TOKEN": [prices.acme.example, "*.feeds.example:8443"] }
tenants: { acme: { env: [], files: [], destinations: {} } }
`;
    expect(complaints({ ...audit("{ env: SHARED_KEY }"), ...source("{ env: ACME_FEED_TOKEN }") }, text)).toEqual([]);
  });

  test.each([
    ["version: 2\n", "pmctl.yaml:1:10 version: must be 1 (got 2)"],
    ["secrets: {}\n", "pmctl.yaml:1:1 version: is required"],
    ["version: 1\nsecret: {}\n", 'pmctl.yaml:2:1 secret: unknown key; did you mean "secrets"?'],
    ["version: 1\nsecrets:\n  envs: []\n", 'pmctl.yaml:3:3 secrets.envs: unknown key; did you mean "env"?'],
    [
      "version: 1\ntenants: { acme: { fils: [] } }\n",
      'pmctl.yaml:2:20 tenants.acme.fils: unknown key; did you mean "files"?',
    ],
    [granted('env: ["*"]'), "must be the name of an environment variable"],
    [granted("env: [A*B]"), "must be the name of an environment variable"],
    [granted("destinations: { ACME_TOKEN: [a.example] }"), "must be env NAME, file PATH or sops PATH"],
    [granted('destinations: { "env A": ["https://a.example"] }'), "must be a host such as"],
    [granted('destinations: { "env A": ["*"] }'), "must be a host such as"],
    [granted('destinations: { "env A": a.example }'), "must be a list"],
    ["", "is empty"],
    ["version: 1\n\tx: 1\n", "a tab cannot indent YAML"],
  ])("%j is refused at its place", (text, complaint) => {
    const found = complaints({}, text);
    expect(found.length).toBeGreaterThan(0);
    expect(found[0]).toContain(complaint);
    expect(found[0]).toMatch(/^pmctl\.yaml:\d+:\d+ /);
  });
});

describe("a variable", () => {
  const other = { "tenants/acme-eu/tenant.yaml": "x", "tenants/beta/tenant.yaml": "x" };

  test("with the tenant's prefix needs no leave", () => {
    expect(complaints(audit("{ env: ACME_ANYTHING }"), undefined, other)).toEqual([]);
  });

  test("without the prefix is refused with its place, and the error names the list that allows it", () => {
    for (const name of ["FEED_TOKEN", "ACME", "ACMEKEY", "BETAS_KEY", "PATH"])
      expect(complaints(audit(`{ env: ${name} }`), undefined, other)).toEqual([
        `tenants/acme/tenant.yaml:6:15 audit.key: the variable ${name} does not begin with ACME_: rename it, or list it in pmctl.yaml under secrets.env`,
      ]);
  });

  test.each([
    granted("env: [FEED_TOKEN]"),
    granted('env: ["FEED_*"]'),
    "version: 1\ntenants: { acme: { env: [FEED_TOKEN] } }\n",
  ])("is taken with %j", (text) => {
    expect(complaints(audit("{ env: FEED_TOKEN }"), text, other)).toEqual([]);
  });

  test("listed for another tenant, or beside it, is not", () => {
    for (const text of ["version: 1\ntenants: { beta: { env: [FEED_TOKEN] } }\n", granted("env: [FEED, FEED_TOKEN_2]")])
      expect(complaints(audit("{ env: FEED_TOKEN }"), text, other)).toHaveLength(1);
  });

  test("of another tenant is never taken, by no list; the longest prefix of all tenants decides whose it is", () => {
    const lists = granted('env: ["BETA_*", "ACME_*", BETA_KEY, ACME_EU_KEY]');
    for (const [name, owner] of [
      ["BETA_KEY", "beta"],
      ["ACME_EU_KEY", "acme-eu"],
    ])
      expect(complaints(audit(`{ env: ${name} }`), lists, other)).toEqual([
        `tenants/acme/tenant.yaml:6:15 audit.key: the variable ${name} belongs to the tenant ${owner}: no other tenant may use it`,
      ]);
    // Without that tenant it is the shorter one's; a tenant that the operator's file names counts as one.
    expect(complaints(audit("{ env: ACME_EU_KEY }"))).toEqual([]);
    expect(complaints(audit("{ env: ACME_EU_KEY }"), "version: 1\ntenants: { acme-eu: {} }\n")).toHaveLength(1);
  });
});

describe("a file of secrets or keys", () => {
  test.each([
    "{ file: ../../.env }",
    "{ file: /proc/self/environ }",
    "{ sops: ../../x.yaml, path: a }",
    "{ file: a/../../b }",
  ])("%s is refused", (reference) => {
    expect(complaints(audit(reference))).toEqual([
      "tenants/acme/tenant.yaml:6:15 audit.key: the file leads out of the tenant's folder: list its folder in pmctl.yaml under secrets.files",
    ]);
  });

  test("key sets and certificates lie there too", () => {
    const found = complaints({
      auth: "{ jwt: { algorithm: ES256, jwks: { file: ../keys.json } } }",
      server: "{ tls: { cert: /etc/ssl/cert.pem, key: { file: ../key.pem } } }",
    });
    expect(found.map((text) => text.split(" ")[1])).toEqual([
      "auth.jwt.jwks.file:",
      "server.tls.cert:",
      "server.tls.key:",
    ]);
  });

  test("below a root of the operator's file is taken, relative to that file; beside it is not", () => {
    expect(complaints(audit("{ file: /run/secrets/acme/key }"), granted("files: [/run/secrets]"))).toEqual([]);
    expect(complaints(audit("{ file: ../../vault/key }"), granted("files: [vault]"))).toEqual([]);
    expect(
      complaints(audit("{ file: ../../vault/key }"), "version: 1\ntenants: { acme: { files: [vault] } }\n"),
    ).toEqual([]);
    expect(complaints(audit("{ file: /run/secrets-of-others/key }"), granted("files: [/run/secrets]"))).toHaveLength(1);
    expect(complaints(audit("{ file: ../../vault/../x }"), granted("files: [vault]"))).toHaveLength(1);
  });

  test.each(["{ file: link }", "{ file: folder/key }", "{ sops: link, path: a }"])(
    "a link that leads out is refused as what it leads to: %s",
    (reference) => {
      const directory = directoryWith({
        "tenants/acme/tenant.yaml": tenantText(audit(reference)),
        "elsewhere/key": "secret",
      });
      symlinkSync(join(directory, "elsewhere/key"), join(directory, "tenants/acme/link"));
      symlinkSync("../../elsewhere", join(directory, "tenants/acme/folder"));
      expect(complaintsIn(directory)).toHaveLength(1);
      writeFileSync(join(directory, "pmctl.yaml"), granted("files: [elsewhere]"));
      expect(complaintsIn(directory)).toEqual([]);
    },
  );

  test("a link within the folder, and a tenant's folder that is a link itself, are no way out", () => {
    const directory = directoryWith({ "store/tenant.yaml": tenantText(audit("{ file: link }")), "store/a/key": "s" });
    symlinkSync("a/key", join(directory, "store/link"));
    mkdirSync(join(directory, "tenants"));
    symlinkSync("../store", join(directory, "tenants/acme"));
    expect(complaintsIn(directory)).toEqual([]);
  });

  test("is looked at again when it is read: a link that was swapped after the check gives nothing", () => {
    const directory = directoryWith({ "acme/key": "mine", "out/key": "theirs" });
    for (const file of ["acme/key", "out/key"]) chmodSync(join(directory, file), 0o600);
    const context = { environment: {}, directory: join(directory, "acme") };
    expect(resolveSecret({ file: "key" }, context)).toBe("mine");
    renameSync(join(directory, "acme/key"), join(directory, "acme/kept"));
    symlinkSync("../out/key", join(directory, "acme/key"));
    expect(() => resolveSecret({ file: "key" }, context)).toThrow(
      /the secret file key leads out of the tenant's folder/,
    );
    expect(resolveSecret({ file: "key" }, { ...context, roots: [join(directory, "out")] })).toBe("theirs");
    rmSync(join(directory, "acme/key"));
    mkdirSync(join(directory, "acme/key"));
    expect(() => resolveSecret({ file: "key" }, context)).toThrow(/is not a file/);
  });
});

describe("a secret that sources send", () => {
  const to = (hosts: string, secret = "env ACME_FEED_TOKEN") => granted(`destinations: { "${secret}": [${hosts}] }`);
  const TOKEN = "{ env: ACME_FEED_TOKEN }";

  test("goes nowhere unless the operator's file says so, not to loopback either", () => {
    const local = { ...source(TOKEN, "http://127.0.0.1:8080/{id}"), network: "{ allowPrivate: [127.0.0.0/8] }" };
    expect(complaints(source(TOKEN))[0]).toContain(
      'the secret would be sent to prices.acme.example:443: list "env ACME_FEED_TOKEN": ["prices.acme.example"] in pmctl.yaml under secrets.destinations',
    );
    expect(complaints(local)[0]).toContain("127.0.0.1:8080");
    expect(complaints(local, to('"127.0.0.1:8080"'))).toEqual([]);
    const query = `{ sources: { house: { url: "https://q.example/", query: { key: ${TOKEN} }, ${SOURCE} } } }`;
    expect(complaints({ oracle: query })[0]).toMatch(
      / oracle\.sources\.house\.query\S*: the secret would be sent to q\.example:443/,
    );
  });

  const reaching = (url: string) => ({ ...source(TOKEN, url), network: "{ allowPorts: [8443] }" });

  test.each([
    ["https://prices.acme.example/{id}", "prices.acme.example"],
    ["https://PRICES.acme.example/{id}", "prices.acme.example"],
    ["https://prices.acme.example:443/{id}", "prices.acme.example"],
    ["https://prices.acme.example/{id}", '"prices.acme.example:443"'],
    ["https://prices.acme.example:8443/{id}", '"prices.acme.example:8443"'],
    ["https://eu.feeds.example:8443/{id}", '"*.feeds.example:8443"'],
    ["https://[2606:4700::1]:8443/{id}", '"[2606:4700::1]:8443"'],
  ])("%s is reached by the entry %s", (url, entry) => {
    expect(complaints(reaching(url), to(entry))).toEqual([]);
  });

  test.each([
    ["https://prices.acme.example:8443/{id}", "prices.acme.example"],
    ["https://prices.acme.example/{id}", '"prices.acme.example:8443"'],
    ["https://prices.acme.example.evil.example/{id}", "prices.acme.example"],
    ["https://prices.acme.example@evil.example/{id}", "prices.acme.example"],
    ["https://evil.example/prices.acme.example/{id}", "prices.acme.example"],
    ["https://feeds.example:8443/{id}", '"*.feeds.example:8443"'],
    ["https://a.b.feeds.example:8443/{id}", '"*.feeds.example:8443"'],
    ["https://evilfeeds.example:8443/{id}", '"*.feeds.example:8443"'],
  ])("%s is not reached by the entry %s", (url, entry) => {
    expect(complaints(reaching(url), to(entry))).toHaveLength(1);
  });

  test("does not let an instrument decide about the host", () => {
    for (const url of ["https://{id}.acme.example/", "https://prices.acme.example{id}/", "https://{id}@acme.example/"])
      expect(complaints(source(TOKEN, url), to('prices.acme.example, "*.acme.example", acme.example')).join()).toMatch(
        /must not depend on \{id\}|must be an https address/,
      );
  });

  test("is named as the tenant file names it; a list for one secret is none for another", () => {
    for (const [reference, secret] of [
      ["{ file: token }", "file token"],
      ["{ file: ./a/../token }", "file token"],
      ["{ sops: s.yaml, path: a.b }", "sops s.yaml"],
    ]) {
      expect(complaints(source(reference ?? ""), to("prices.acme.example", secret))).toEqual([]);
      expect(complaints(source(reference ?? ""), to("prices.acme.example"))).toHaveLength(1);
    }
    expect(complaints(source(TOKEN), to("prices.acme.example", "env ACME_FEED_TOKEN_2"))).toHaveLength(1);
    expect(
      complaints(
        source(TOKEN),
        `version: 1\ntenants: { beta: { destinations: { "env ACME_FEED_TOKEN": [prices.acme.example] } } }\n`,
      ),
    ).toHaveLength(1);
  });

  test("is nothing that a program prints, which no list can name", () => {
    expect(complaints(source("{ exec: [vault, read] }"), to("prices.acme.example"))[0]).toContain(
      "a secret that a program prints cannot be sent to a source",
    );
  });

  test("goes to a preset's own host, which is one for all of its addresses", () => {
    const preset = { oracle: `{ sources: { pyth: { headers: { authorization: ${TOKEN} } } } }` };
    expect(complaints(preset)[0]).toContain("hermes.pyth.network:443");
    expect(complaints(preset, to("hermes.pyth.network"))).toEqual([]);
    for (const { url, historyUrl, trades, candles } of Object.values(PRESETS)) {
      const others = [historyUrl, trades?.url, candles?.url].filter((address) => address !== undefined);
      for (const address of others) expect(new URL(address).origin).toBe(new URL(url).origin);
    }
  });

  test("is no header that is stated in clear", () => {
    expect(
      complaints({
        oracle: `{ sources: { house: { url: "https://a.example/", headers: { accept: text/plain }, ${SOURCE} } } }`,
      }),
    ).toEqual([]);
  });
});

describe("a secret that goes to a database", () => {
  const PASSWORD = "password: { env: ACME_DATABASE_PASSWORD }";
  const toDatabase = (hosts: string, more = "", key = "url") => ({
    database: `{ ${key === "url" ? "" : "url: { env: ACME_DATABASE_URL }, "}${key}: { hosts: [${hosts}], name: acme, ${PASSWORD}${more} } }`,
  });
  const to = (hosts: string, secret = "env ACME_DATABASE_PASSWORD") =>
    granted(`destinations: { "${secret}": [${hosts}] }`);
  const VERIFIED = ", parameters: { sslmode: verify-full }";

  test.each(["url", "ownerUrl"])("is refused in %s beside a host that the operator's file does not list", (key) => {
    expect(complaints(toDatabase("a.example, '[2001:DB8::1]:6432'", VERIFIED, key))).toEqual([
      expect.stringMatching(
        `database.${key}.password.*: the secret would be sent to a.example:5432: list "env ACME_DATABASE_PASSWORD": ."a.example:5432". in pmctl.yaml under secrets.destinations`,
      ),
      expect.stringContaining("would be sent to [2001:db8::1]:6432"),
    ]);
    const listed = to('"a.example:5432", "[2001:db8::1]:6432"');
    expect(complaints(toDatabase("A.example, '[2001:DB8::1]:6432'", VERIFIED, key), listed)).toEqual([]);
    for (const host of ["b.example", "a.example.evil.example", "a.example:5433", "127.0.0.1.evil.example"])
      expect(complaints(toDatabase(`a.example, "${host}"`, VERIFIED, key), listed)).toHaveLength(1);
  });

  test("goes to hosts of the operator's variables, and of this machine, without an entry", () => {
    for (const host of ["{ env: ACME_HOST }", '"127.0.0.1:6432"', "localhost", '"[::1]:5432"', "/run/postgresql"])
      expect(complaints(toDatabase(host))).toEqual([]);
    for (const host of ["{ file: host }", "{ sops: s.yaml, path: host }", "{ exec: [echo, evil.example] }"])
      expect(complaints(toDatabase(host))[0]).toContain("must be in this file or in variables");
  });

  test("is any reference that a connection tells, not the password alone", () => {
    const { database } = toDatabase("evil.example", VERIFIED);
    for (const [stated, secret] of [
      ["name: acme", "name: { env: ACME_AUDIT_KEY }"],
      ["name: acme", "name: acme, user: { env: ACME_AUDIT_KEY }"],
      ["sslmode: verify-full", "sslmode: verify-full, application_name: { env: ACME_AUDIT_KEY }"],
    ] as const)
      expect(complaints({ database: database.replace(stated, secret) }, to('"evil.example:5432"'))).toEqual([
        expect.stringContaining('list "env ACME_AUDIT_KEY": ["evil.example:5432"]'),
      ]);
    const program = database.replace("{ env: ACME_DATABASE_PASSWORD }", "{ exec: [vault, read] }");
    expect(complaints({ database: program })[0]).toContain(
      "a secret that a program prints cannot be sent to a database",
    );
  });

  test.each([
    ["", "prefer"],
    ["sslmode: disable", "disable"],
    ["sslmode: require", "require"],
    ["sslmode: verify-ca", "verify-ca"],
    ["sslmode: { file: mode }", "disable"],
    ["sslmode: verify-full, sslrootcert: root.pem", "require"],
    ["sslmode: verify-full, sslrootcert: { file: root }", "require"],
  ])("with the parameters '%s' needs an entry for sslmode %s", (parameters, sslmode) => {
    const tenant = toDatabase("a.example", `, parameters: { ${parameters} }`);
    expect(complaints(tenant, to('"a.example:5432"'))).toEqual([
      expect.stringContaining(`["a.example:5432?sslmode=${sslmode}"]`),
    ]);
    expect(complaints(tenant, to(`"a.example:5432?sslmode=${sslmode}"`))).toEqual([]);
    expect(complaints(tenant, to('"a.example:5432?sslmode=disable"'))).toEqual([]);
  });

  test.each([
    "sslmode: verify-full",
    "sslrootcert: system",
    "sslmode: verify-full, sslrootcert: { env: ACME_ROOT }",
    "sslmode: { env: ACME_SSLMODE }",
  ])("with the parameters '%s' needs an entry without sslmode", (parameters) => {
    expect(complaints(toDatabase("a.example", `, parameters: { ${parameters} }`), to('"a.example:5432"'))).toEqual([]);
  });
});
