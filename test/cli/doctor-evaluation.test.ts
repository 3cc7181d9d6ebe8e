import { describe, expect, test } from "vitest";
import { evaluateAddresses, evaluateCertificate, evaluateJurisdictions } from "../../src/app/checks/addresses.ts";
import type { Finding } from "../../src/app/checks/check.ts";
import { type DatabaseFacts, evaluateDatabase } from "../../src/app/checks/database.ts";
import { type DurabilityFacts, evaluateBackup, evaluateDurability } from "../../src/app/checks/durability.ts";
import { evaluateKeySet } from "../../src/app/checks/key-set.ts";
import { evaluateEnvFile, evaluateMachine, type MachineFacts } from "../../src/app/checks/machine.ts";
import { evaluateHeld } from "../../src/app/checks/oracle.ts";
import {
  evaluateRecord,
  evaluateSettlements,
  evaluateTreasury,
  type RecordFacts,
} from "../../src/app/checks/record.ts";
import { evaluateSecrets, type SecretFact, type SecretFacts } from "../../src/app/checks/secrets.ts";
import { evaluateServer } from "../../src/app/checks/server.ts";

test("a held market is a warning with the reason and the way out", () => {
  expect(evaluateHeld([], "acme").status).toBe("ok");
  const held = { id: "mkt_1", question: "?", resolutionRef: "pm:btc > 1", reason: "feed down", detail: "no answer" };
  const check = evaluateHeld([{ ...held, heldAt: Date.parse("2030-01-01T00:00:00Z") }], "acme");
  expect(check).toEqual({
    check: "held markets",
    status: "warn",
    found:
      "the oracle left 1 market to a person, mkt_1 for the longest time, since 2030-01-01T00:00:00.000Z: feed down, no answer",
    remedy: "Look at the sources, or settle it by hand",
    commands: [
      "pmctl oracle check -t acme",
      "pmctl market settle mkt_1 --outcome yes -t acme",
      "pmctl market settle mkt_1 --outcome no -t acme",
    ],
  });
});

test.each([
  ["without lists no user is refused for an unknown place", [], [], 3, "ok", "any jurisdiction"],
  ["a list and users of known places are fine, and the rule is said", [], ["US"], 0, "ok", "refuses users whose"],
  ["verified users of unknown places are a warning", [], ["US"], 3, "warn", "3 verified users without one on record"],
  ["... so under a list of allowed ones", ["CH"], [], 1, "warn", "1 verified user without one on record"],
] as const)("%s", (_, allowed, blocked, unknown, status, words) => {
  const check = evaluateJurisdictions({ allowed: [...allowed], blocked: [...blocked] }, unknown);
  expect(check).toMatchObject({ status, found: expect.stringContaining(words) });
});

const GIB = 1024 ** 3;

/** The status of one check among those found. */
function statusOf(checks: readonly Finding[], name: string): string | undefined {
  return checks.find(({ check }) => check === name)?.status;
}

const machine: MachineFacts = {
  node: "24.15.0",
  binariesProblem: null,
  embeddedVersion: "18.4",
  needsEmbedded: true,
  directory: "/srv/markets",
  isWritable: true,
  dataDir: "/srv/markets/.pmctl/postgres/data",
  freeBytes: 10 * GIB,
};

test.each<[string, Partial<MachineFacts>, string, string]>([
  ["Node that is just new enough is well", {}, "node", "ok"],
  ["a Node one minor version too old fails", { node: "24.14.9" }, "node", "fail"],
  ["an older Node fails", { node: "22.99.0" }, "node", "fail"],
  ["a newer Node is well", { node: "25.0.0" }, "node", "ok"],
  [
    "missing database programs fail a tenant that needs them",
    { binariesProblem: "none" },
    "embedded PostgreSQL",
    "fail",
  ],
  ["... and no other user", { binariesProblem: "none", needsEmbedded: false }, "embedded PostgreSQL", "skipped"],
  ["a directory that is read-only fails", { isWritable: false }, "directory", "fail"],
  ["little room is a warning", { freeBytes: GIB }, "disk", "warn"],
  ["no room fails", { freeBytes: GIB / 8 }, "disk", "fail"],
  ["... unless the databases are elsewhere", { freeBytes: GIB / 8, needsEmbedded: false }, "disk", "skipped"],
])("%s", (_, change, check, status) => {
  expect(statusOf(evaluateMachine({ ...machine, ...change }), check)).toBe(status);
});

test.each([
  [0o600, "ignored", ["ok", "ok"]],
  [0o640, "ignored", ["warn", "ok"]],
  [0o604, "no repository", ["fail", "ok"]],
  [0o600, "not ignored", ["ok", "fail"]],
  [0o600, "tracked", ["ok", "fail"]],
] as const)(".env of mode %o that git says is %s", (mode, git, expected) => {
  expect(evaluateEnvFile({ directory: "/srv/markets", mode, git }).map(({ status }) => status)).toEqual(expected);
});

test.each([
  ["none is no matter", undefined, undefined],
  ["one that cannot be used fails", { problem: "server.tls.cert expired" }, "fail"],
  ["one for another host fails", { host: "a.example", isForHost: false, daysLeft: 90 }, "fail"],
  ["one for two more weeks is well", { host: "a.example", isForHost: true, daysLeft: 14 }, "ok"],
  ["one for less is a warning", { host: "a.example", isForHost: true, daysLeft: 13 }, "warn"],
] as const)("a certificate: %s", (_what, facts, status) => {
  expect(statusOf(evaluateCertificate(facts), "certificate")).toBe(status);
});

describe("addresses", () => {
  const facts = {
    baseUrl: "https://predict.acme.com",
    server: { host: "0.0.0.0", port: 8080, opsPort: 9464, trustProxy: [] as string[] },
    embed: { allowedOrigins: [] as string[] },
    cors: { origins: [] as string[] },
  };
  const behindProxy = { server: { ...facts.server, host: "127.0.0.1" } };
  test.each([
    ["a domain of one's own is well", {}, "base URL", "ok"],
    ["the template's domain is a warning", { baseUrl: "https://predict.acme.example" }, "base URL", "warn"],
    ["plain http to the world fails", { baseUrl: "http://predict.acme.com" }, "base URL", "fail"],
    ["plain http on this machine is well", { baseUrl: "http://localhost:8080" }, "base URL", "ok"],
    ["https on loopback without a trusted proxy is a warning", behindProxy, "trustProxy", "warn"],
    [
      "a server for this machine has no proxy before it",
      { ...behindProxy, baseUrl: "https://127.0.0.1:8443" },
      "trustProxy",
      "ok",
    ],
    ["trusting everybody fails", { server: { ...facts.server, trustProxy: ["0.0.0.0/0"] } }, "trustProxy", "fail"],
    ["... in IPv6 too", { server: { ...facts.server, trustProxy: ["::/0"] } }, "trustProxy", "fail"],
    [
      "trusting a private network is well",
      { server: { ...facts.server, trustProxy: ["10.0.0.0/8"] } },
      "trustProxy",
      "ok",
    ],
    [
      "the own origin among embedders is a warning",
      { embed: { allowedOrigins: ["https://predict.acme.com"] } },
      "embed origins",
      "warn",
    ],
    [
      "an embedder by http is a warning",
      { embed: { allowedOrigins: ["http://www.acme.com"] } },
      "embed origins",
      "warn",
    ],
    [
      "an https embedder of an http tenant is a warning",
      { baseUrl: "http://localhost", embed: { allowedOrigins: ["https://www.acme.com"] } },
      "embed origins",
      "warn",
    ],
  ])("%s", (_, change, check, status) => {
    expect(statusOf(evaluateAddresses({ ...facts, ...change }), check)).toBe(status);
  });
});

describe("what an acknowledged change survives", () => {
  const standby = { name: "b", state: "streaming", sync: "sync" as const, lagBytes: 0 };
  const facts: DurabilityFacts = {
    ...{
      version: "18.4",
      fsync: true,
      fullPageWrites: true,
      synchronousCommit: "on",
      synchronousStandbyNames: "b",
      walLevel: "replica",
    },
    ...{ standbys: [standby], waits: true, strict: true, synchronousStandbys: 1, survives: "machine", required: 1 },
    archive: { mode: "on", lastArchivedAt: "2026-01-02T00:00:00.000Z", lastFailedAt: null, failed: 0 },
  };
  const away = { standbys: [], synchronousStandbys: 0, survives: "crash" as const };
  const alone = { ...away, synchronousStandbyNames: "", waits: false, strict: false, required: 0 };

  test.each<[string, Partial<DurabilityFacts>, string, string]>([
    ["a database that writes through is well", {}, "durability", "ok"],
    ["one that forgets in a crash fails", { fsync: false, survives: "none" }, "durability", "fail"],
    ["one that may leave half a page is a warning", { fullPageWrites: false }, "durability", "warn"],
    ["a synchronous standby is well", {}, "replication", "ok"],
    ["a database alone is a warning", alone, "replication", "warn"],
    ["a standby that is away is a warning", { ...away, required: 0 }, "replication", "warn"],
    ["fewer standbys than are required fail", away, "replication", "fail"],
    ["standbys that the login may not see are not there", { ...away, standbys: null }, "replication", "fail"],
    ["an archive is well", {}, "archive", "ok"],
    ["no archive is a warning", { archive: { ...facts.archive, mode: "off" } }, "archive", "warn"],
    [
      "an archive whose last attempt failed is a warning",
      { archive: { ...facts.archive, lastFailedAt: "2026-01-03T00:00:00.000Z", failed: 1 } },
      "archive",
      "warn",
    ],
  ])("%s", (_, change, check, status) => {
    expect(statusOf(evaluateDurability({ ...facts, ...change }), check)).toBe(status);
  });

  test("a database without a backup is a warning", () => {
    expect(evaluateBackup(null, "acme")).toMatchObject({ check: "backup", status: "warn" });
    expect(evaluateBackup("2026-01-02T00:00:00.000Z", "acme")).toMatchObject({ check: "backup", status: "ok" });
  });
});

describe("the database", () => {
  const answers: DatabaseFacts = {
    state: "answers",
    version: "15.2",
    schema: 5,
    schemaNeeded: 5,
    clockDifferenceMs: 0,
    clockUncertaintyMs: 1,
  };
  test.each<[string, DatabaseFacts, string, string]>([
    ["PostgreSQL 15 is well", answers, "database", "ok"],
    ["another engine fails", { state: "unsupported", problem: "The database is none" }, "database", "fail"],
    ["an older schema fails", { ...answers, schema: 4 }, "schema", "fail"],
    ["a newer schema fails", { ...answers, schema: 6 }, "schema", "fail"],
    ["a clock two seconds off is a warning", { ...answers, clockDifferenceMs: -2000 }, "clock", "warn"],
    ["a clock a minute off fails", { ...answers, clockDifferenceMs: 60_000 }, "clock", "fail"],
    [
      "a slow answer is no wrong clock",
      { ...answers, clockDifferenceMs: 1400, clockUncertaintyMs: 1400 },
      "clock",
      "ok",
    ],
    ["one that was never made fails", { state: "not created" }, "database", "fail"],
    [
      "one that does not answer fails",
      { state: "unreachable", problem: "refused", isEmbedded: true },
      "database",
      "fail",
    ],
  ])("%s", (_, facts, check, status) => {
    expect(statusOf(evaluateDatabase(facts, "acme"), check)).toBe(status);
  });
});

describe("secrets", () => {
  const secret = (path: string, fingerprint: string, distinctCharacters = 30): SecretFact => ({
    path,
    name: "ACME_X",
    value: { bytes: 43, distinctCharacters, fingerprint },
  });
  test("one value for two webhooks fails, and names both", () => {
    const secrets = [secret("webhooks.inbound.secrets[0]", "fp:1"), secret("webhooks.inbound.stripe[0]", "fp:1")];
    const found = evaluateSecrets({ secrets, problems: [], sharing: [] }).find(
      ({ check }) => check === "webhook secrets",
    );
    expect(found).toMatchObject({ status: "fail", found: expect.stringContaining("inbound.stripe[0]") });
  });
  test("a webhook's value that also signs user tokens fails", () => {
    const secrets = [secret("auth.jwt.secret", "fp:1"), secret("webhooks.inbound.secrets[0]", "fp:1")];
    expect(statusOf(evaluateSecrets({ secrets, problems: [], sharing: [] }), "webhook secrets")).toBe("fail");
  });
  test("endpoints that take the shared secrets are a warning that names them, and so is a value in several lists", () => {
    const judge = (paths: string[], sharing: SecretFacts["sharing"] = []) =>
      evaluateSecrets({ secrets: paths.map((path) => secret(path, "fp:1")), problems: [], sharing }).find(
        ({ check }) => check === "webhook secrets",
      );
    expect(judge(["webhooks.inbound.secrets[0]"], ["payments", "oracle"])).toMatchObject({
      status: "warn",
      found: expect.stringContaining("payments, oracle take the shared secrets"),
      remedy: expect.stringContaining("webhooks.inbound.payments"),
    });
    expect(judge(["webhooks.inbound.secrets[0]"])?.status).toBe("ok");
    const own = ["webhooks.inbound.secrets[0]", "webhooks.inbound.payments.secrets[0]"];
    expect(judge(own)).toMatchObject({ status: "warn", found: expect.stringContaining(own.join(" = ")) });
    expect(judge(["webhooks.inbound.kyc.genericSecrets[0]", "webhooks.inbound.stripe[0]"])?.status).toBe("fail");
  });
  test("a long value of few characters is a warning", () => {
    const secrets = [secret("audit.key", "fp:1", 4)];
    expect(statusOf(evaluateSecrets({ secrets, problems: [], sharing: [] }), "secret audit.key")).toBe("warn");
  });
});

const ANCHOR = { seq: 26n, hash: "a", source: "a test" };
const ANCHORS = { newest: ANCHOR, faults: [] as string[], unwritable: [] as string[], setBack: undefined };
const SOUND: RecordFacts = {
  keyName: "ACME_AUDIT_KEY",
  tail: { checked: 10 },
  anchors: { ...ANCHORS, newest: undefined },
  offRecord: [],
};

test.each<[string, Partial<RecordFacts>, string, string]>([
  [
    "a broken chain fails",
    { tail: { checked: 3, broken: { kind: "broken", seq: 3n, problem: "entry 3 was altered" } } },
    "audit chain",
    "fail",
  ],
  [
    "a log that was set back fails",
    { anchors: { ...ANCHORS, setBack: { anchor: ANCHOR, head: { seq: 21n, hash: "b" }, lost: 5n } } },
    "anchors",
    "fail",
  ],
  [
    "an anchor that our key did not sign is a warning",
    { anchors: { ...ANCHORS, faults: ["a.ndjson:3 has a bad signature"] } },
    "anchors",
    "warn",
  ],
  [
    "a file that no anchor can be written to is a warning",
    { anchors: { ...ANCHORS, unwritable: ["/mnt/a cannot be written (EROFS)"] } },
    "anchors",
    "warn",
  ],
  ["without the key the chain is not judged", { tail: { missing: "ACME_AUDIT_KEY" } }, "audit chain", "skipped"],
  ["a key that no entry made fails", { offRecord: [{ name: "keys", place: "thief" }] }, "on record", "fail"],
])("the record: %s", (_, change, check, status) => {
  expect(statusOf(evaluateRecord({ ...SOUND, ...change }, "acme"), check)).toBe(status);
});

test("a treasury that funds exactly one market is well, and one that is a micro-dollar short fails", () => {
  const status = (treasuryMicro: bigint) => evaluateTreasury({ treasuryMicro, liquidityMicro: 1000n }).status;
  expect([status(1000n), status(999n)]).toEqual(["ok", "fail"]);
});

test("a market that waits for its outcome is a warning", () => {
  expect(evaluateSettlements({ count: 2, oldest: "m1" }, "acme")).toMatchObject({
    status: "warn",
    commands: ["yes", "no"].map((outcome) => `pmctl market settle m1 --outcome ${outcome} -t acme`),
  });
});

test.each([
  ["keys", "thief", ["key revoke thief"], "revoke the key"],
  ["kyc", "eve", ["user restrict eve", "user release eve"], "restrict or release"],
  ["policy", "policy.feeBps", ["policy show"], "pmctl policy set"],
  ["configuration", "document", [], "pmctl policy set"],
])("what is not on record of %s is mended by what the remedy names", (name, place, commands, words) => {
  const findings = evaluateRecord({ ...SOUND, offRecord: [{ name, place }] }, "acme");
  expect(findings.find(({ check }) => check === "on record")).toMatchObject({
    remedy: expect.stringContaining(words),
    commands: ["reconcile --explain", ...commands].map((each) => `pmctl ${each} -t acme`),
  });
});

test("a port that another program has fails; a server that is not ready fails", () => {
  const taken = { ports: [{ field: "server.port", port: 8080, problem: "EADDRINUSE" }], running: undefined };
  expect(statusOf(evaluateServer(taken, "acme"), "server.port")).toBe("fail");
  const unready = { ports: [], running: { url: "http://127.0.0.1:1", health: "200", ready: "503" } };
  expect(evaluateServer(unready, "acme").map(({ status }) => status)).toEqual(["ok", "ok", "fail"]);
});

test("a key set without a key of the tenant's algorithm fails", () => {
  const facts = { kind: "key set", where: "keys.json", keys: 2 } as const;
  expect(evaluateKeySet({ ...facts, usable: 0 }).status).toBe("fail");
  expect(evaluateKeySet({ ...facts, usable: 1 }).status).toBe("ok");
});

test("whatever fails or warns says what to do", () => {
  const all = [
    ...evaluateMachine({ ...machine, node: "20.0.0", binariesProblem: "none", isWritable: false, freeBytes: 0 }),
    ...evaluateEnvFile({ directory: "/srv/my markets", mode: 0o777, git: "tracked" }),
    ...evaluateDatabase({ state: "unreachable", problem: "refused", isEmbedded: true }, "acme"),
  ];
  expect(all.every(({ status, remedy }) => (status === "fail" || status === "warn") === (remedy !== null))).toBe(true);
  expect(all.flatMap(({ commands }) => commands)).toEqual([
    "chmod 600 '/srv/my markets/.env'",
    "git -C '/srv/my markets' rm --cached .env",
    "pmctl db start -t acme",
  ]);
});

test("of many lines that count for nothing the number is told, and the first few", () => {
  const faults = Array.from({ length: 9 }, (_, index) => `a.ndjson:${index + 1} has a bad signature`);
  const [, anchors] = evaluateRecord({ ...SOUND, anchors: { ...ANCHORS, faults } }, "acme");
  expect(anchors?.found).toMatch(/^9 faults: a\.ndjson:1 .*a\.ndjson:2 .*a\.ndjson:5 .*and 4 more: ignored$/);
});

test("a program of anchors that may not run is mended by --allow-exec, and not in .env", () => {
  const message = "anchors go to a program: add --allow-exec to let pmctl run it";
  const problems = [{ file: "tenant.yaml", line: 3, path: "audit.anchors[0].exec", message }];
  const check = evaluateSecrets({ secrets: [], problems, sharing: [] }).find(({ status }) => status === "fail");
  expect(check?.remedy).toContain("--allow-exec");
  expect(check?.remedy).not.toContain(".env");
});

test("a server that is not ready says which way the audit log does not hold, or leads to where the ledger does not add up", () => {
  const findings = (integrity: string) =>
    evaluateServer(
      { ports: [], running: { url: "http://127.0.0.1:1", health: "200", ready: "503", integrity } },
      "acme",
    );
  const readiness = findings("set-back").find(({ check }) => check === "readiness");
  expect(readiness).toMatchObject({ status: "fail", found: expect.stringContaining("set-back") });
  expect(findings("ledger").at(-1)).toEqual({
    check: "ledger",
    status: "fail",
    found: "/readyz answers 503, and the ledger does not add up",
    remedy: "See where",
    commands: ["pmctl reconcile --explain -t acme"],
  });
});
