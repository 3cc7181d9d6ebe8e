import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OperatorTenant } from "../../src/app/tenant/operator-tenant.ts";
import { listFileSecrets } from "../../src/app/tenant/tenant-secrets.ts";
import { timeAhead } from "../../src/cli/input/parsers.ts";
import {
  keyName,
  overlap,
  runKeyCreate,
  runKeyList,
  runKeyRevoke,
  runKeyRotate,
  runSecretRotate,
} from "../../src/cli/key/key.ts";
import { resolveSecret } from "../../src/config/secrets/secrets.ts";
import { loadTenantFile } from "../../src/config/tenant-file.ts";
import type { Api } from "../../src/contract/operations.ts";
import { directoryWith, parse, tenantText } from "../config/support.ts";
import { ADMIN_KEY, doors, type TestDoor } from "./support/doors.ts";
import { end, testIo } from "./support/io.ts";

const ENVIRONMENT = {
  ACME_ADMIN_KEY: ADMIN_KEY,
  ACME_AUDIT_KEY: "an audit key of the tests, of 32 bytes and more",
  ACME_WEBHOOK_SECRET: "a webhook secret of the tests, 32 bytes or more",
};

/** A tenant file as an operator has it; the database knows nothing of it. */
function operatorTenant(): OperatorTenant {
  const sections = { webhooks: "{ inbound: { secrets: [{ env: ACME_WEBHOOK_SECRET }], stripe: [{ file: gone }] } }" };
  const directory = directoryWith({ "acme/tenant.yaml": tenantText(sections) });
  const config = loadTenantFile(join(directory, "acme/tenant.yaml"));
  const secret: OperatorTenant["secret"] = (reference) =>
    resolveSecret(reference, { environment: ENVIRONMENT, directory: config.source.directory });
  return { id: "acme", directory, config, secret };
}

describe.each(doors)("key commands through the %s door", (_name, open) => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await open();
    api = door.api();
  });
  afterAll(() => door.close());

  const session = () => ({ api: () => api, tenant: operatorTenant() });
  const json = async (run: (io: ReturnType<typeof testIo>) => Promise<void>, answers?: (string | null)[]) => {
    const io = testIo({ format: "json", ...(answers && { answers }) });
    const ending = await end(io, () => run(io));
    return { ...ending, data: ending.stdout === "" ? undefined : JSON.parse(ending.stdout) };
  };

  test("create prints the value once; list has the key and no value", async () => {
    const { exit, data, stdout } = await json((io) =>
      runKeyCreate({ name: "desk", type: "admin", expiresAt: "2096-01-01T00:00:00.000Z" }, api, io),
    );
    expect({ exit, data }).toEqual({
      exit: 0,
      data: {
        name: "desk",
        type: "admin",
        scopes: ["*"],
        from: [],
        key: expect.stringMatching(/^sk_.{43}$/),
        createdAt: expect.any(String),
        expiresAt: "2096-01-01T00:00:00.000Z",
      },
    });
    expect(stdout.split(data.key)).toHaveLength(2);
    const listed = await json((io) => runKeyList({ secrets: [] }, api, io));
    expect(listed.stdout).not.toContain(data.key);
    expect(listed.data).toContainEqual(expect.objectContaining({ name: "desk", type: "admin", active: true }));
  });

  test("the list names the file's secrets with their places and fingerprints, and never a value", async () => {
    const { data, stdout } = await json((io) => runKeyList({ secrets: listFileSecrets(operatorTenant()) }, api, io));
    const places = data.map(({ name, type, reference, fingerprint }: Record<string, unknown>) => [
      name,
      type,
      reference,
      fingerprint,
    ]);
    expect(places).toContainEqual(["ops", "admin", "env ACME_ADMIN_KEY", expect.stringMatching(/^fp:[0-9a-f]{8}$/)]);
    expect(places).toContainEqual([
      "webhooks.inbound.secrets[0]",
      "webhook",
      "env ACME_WEBHOOK_SECRET",
      expect.stringMatching(/^fp:/),
    ]);
    expect(places).toContainEqual(["webhooks.inbound.stripe[0]", "stripe", "file gone", null]);
    expect(places).toContainEqual(["audit.key", "audit", "env ACME_AUDIT_KEY", expect.stringMatching(/^ak_/)]);
    for (const value of Object.values(ENVIRONMENT)) expect(stdout).not.toContain(value);
  });

  test("rotate prints the new value, and says where the file takes the old one from", async () => {
    await json((io) => runKeyCreate({ name: "web", type: "public" }, api, io));
    const { data, stderr } = await json((io) => runKeyRotate({ name: "web", overlapSeconds: 60 }, session(), io));
    expect(data).toMatchObject({ name: "web", type: "public", key: expect.stringMatching(/^pk_/) });
    expect(stderr).toMatch(/tenant\.yaml:4 takes this key from env ACME_PUBLIC_KEY: put the new value there/);
  });

  test("after a leak it names where the uses of an admin key are on record; a public key acts for users", async () => {
    const leaked = async (name: string, type: "admin" | "public") => {
      await json((io) => runKeyCreate({ name, type }, api, io));
      return (await json((io) => runKeyRotate({ name, leaked: true }, session(), io))).stderr;
    };
    expect(await leaked("night", "admin")).toContain("pmctl audit list --actor admin:night -t acme");
    expect(await leaked("kiosk", "public")).not.toContain("--actor");
    for (const name of ["night", "kiosk"]) await json((io) => runKeyRevoke({ name, yes: true }, api, io));
  });

  test("revoke asks for the name, takes --yes in scripts, and is refused without a terminal", async () => {
    await json((io) => runKeyCreate({ name: "shop", type: "public" }, api, io));
    const revoke = { name: "shop" };
    expect(await json((io) => runKeyRevoke(revoke, api, io))).toMatchObject({ exit: 6, stdout: "" });
    expect(await json((io) => runKeyRevoke(revoke, api, io), ["shopp"])).toMatchObject({ exit: 130 });
    expect(await json((io) => runKeyRevoke(revoke, api, io), ["shop"])).toMatchObject({
      exit: 0,
      data: { name: "shop", type: "public" },
    });
    expect(await json((io) => runKeyRevoke({ ...revoke, yes: true }, api, io))).toMatchObject({ exit: 5 });
  });

  test("the last admin key is told as such before it goes; over HTTP the key in use stays", async () => {
    await json((io) => runKeyRevoke({ name: "desk", yes: true }, api, io));
    const asked = await json((io) => runKeyRevoke({ name: "ops" }, api, io), [null]);
    expect(asked).toMatchObject({ exit: 130, stderr: expect.stringContaining("ops is the last admin key") });
    const revoked = await json((io) => runKeyRevoke({ name: "ops", yes: true }, api, io));
    if (door.actor === "admin:ops") expect(revoked).toMatchObject({ exit: 7, stdout: "" });
    else expect(revoked.exit).toBe(0);
  });
});

describe("replacing a secret of the tenant file", () => {
  test.each([
    ["webhook", "ACME_WEBHOOK_SECRET_2", "secrets: [{ env: ACME_WEBHOOK_SECRET }, { env: ACME_WEBHOOK_SECRET_2 }]"],
    ["audit", "ACME_AUDIT_KEY_2", "key: { env: ACME_AUDIT_KEY_2 }\nprevious: [{ env: ACME_AUDIT_KEY }]"],
  ] as const)("%s: prints a fresh value and what to put where, and changes nothing", async (type, variable, lines) => {
    const io = testIo({ format: "json" });
    await runSecretRotate({ type }, operatorTenant(), io);
    const { key, yaml, steps } = JSON.parse(io.stdout.text);
    expect(key).toMatch(type === "webhook" ? /^whsec_[A-Za-z0-9+/]{43}=$/ : /^[A-Za-z0-9_-]{43}$/);
    expect(yaml).toContain(lines);
    expect(steps.join("\n")).toContain(`${variable}=${key}`);
    expect(steps.join("\n")).toMatch(/tenant\.yaml:[67] to: /);
    expect(io.stderr.text).toBe("Nothing was changed yet.\n");
  });
});

test("the audit key's lines are told one by one, each where it stands, and nothing else of the section is touched", async () => {
  const text = tenantText({
    audit:
      "\n  anchors: [{ file: a }]\n  key:\n    env: ACME_AUDIT_KEY\n  anchorEvery: { minutes: 1 }\n  previous: [{ env: ACME_OLD }]",
  });
  const from = text.split("\n").findIndex((line) => line.startsWith("audit:")) + 1;
  const tenant = { ...operatorTenant(), config: parse(text) };
  const io = testIo({ format: "json" });
  await runSecretRotate({ type: "audit" }, tenant, io);
  const { steps, yaml } = JSON.parse(io.stdout.text);
  expect(steps[1]).toContain("First let every server read it: put { env: ACME_AUDIT_KEY_2 } into `previous`");
  expect(steps.slice(2, 4)).toEqual([
    expect.stringContaining(`tenant.yaml:${from + 2} to: key: { env: ACME_AUDIT_KEY_2 }`),
    expect.stringContaining(`tenant.yaml:${from + 5} to: previous: [{ env: ACME_AUDIT_KEY }, { env: ACME_OLD }]`),
  ]);
  expect(yaml).not.toContain("audit:");
});

describe("replacing webhook secrets", () => {
  const steps = async (inbound: string, rotation: { endpoint?: "kyc" | "payments" } = {}) => {
    const config = parse(tenantText({ webhooks: `{ inbound: ${inbound} }` }));
    const environment: Record<string, string> = { ACME_SHORT: "short", ACME_PAY: "p".repeat(32) };
    const secret: OperatorTenant["secret"] = (reference) =>
      resolveSecret(reference, { environment, directory: config.source.directory });
    const io = testIo({ format: "json" });
    await runSecretRotate({ type: "webhook", ...rotation }, { ...operatorTenant(), config, secret }, io);
    const { yaml, steps: told } = JSON.parse(io.stdout.text);
    return { yaml, told: told.join("\n") };
  };
  const PAYMENTS = "payments: { secrets: [{ env: ACME_PAY }] }";

  test("plans the list of the endpoint, and says that the new variable is to be accepted", async () => {
    const payments = await steps(`{ secrets: [{ env: ACME_SHARED }], ${PAYMENTS} }`, { endpoint: "payments" });
    expect(payments.yaml).toBe("secrets: [{ env: ACME_PAY }, { env: ACME_PAY_2 }]");
    expect(payments.told).toContain("pmctl apply --accept-loosening");
    const shared = await steps(`{ secrets: [{ env: ACME_SHARED }], ${PAYMENTS} }`, { endpoint: "kyc" });
    expect(shared.yaml).toBe("secrets: [{ env: ACME_SHARED }, { env: ACME_SHARED_2 }]");
    const provider = "kyc: { provider: sumsub, secrets: [{ env: ACME_S }], genericSecrets: [{ env: ACME_G }] }";
    expect((await steps(`{ ${provider} }`, { endpoint: "kyc" })).yaml).toBe(
      "genericSecrets: [{ env: ACME_G }, { env: ACME_G_2 }]",
    );
  });

  test("refuses to plan a shared list that no endpoint takes", async () => {
    const own = ["kyc", "oracle"].map((name) => `${name}: { secrets: [{ env: ACME_${name.toUpperCase()} }] }`);
    await expect(steps(`{ ${[...own, PAYMENTS].join()} }`)).rejects.toThrow("--endpoint");
  });

  test("leaves out an old value that no server starts with, and says what follows", async () => {
    const { yaml, told } = await steps("{ secrets: [{ env: ACME_SHORT }] }");
    expect(yaml).toBe("secrets: [{ env: ACME_SHORT_2 }]");
    expect(told).toMatch(/ACME_SHORT cannot stay.*at once/);
    expect(told).toContain("answered 401");
    expect(told).not.toContain("old value and the new one are accepted");
  });
});

describe("the options of key commands", () => {
  test("a key is named by argument or by --name, and by both only if they agree", () => {
    expect([keyName("a", {}), keyName(undefined, { name: "b" }), keyName("c", { name: "c" })]).toEqual(["a", "b", "c"]);
    for (const wrong of [() => keyName(undefined, {}), () => keyName("a", { name: "b" })])
      expect(wrong).toThrow(/Name the key|leave one out/);
  });

  test("--expires takes a span or a time with its zone, and --overlap a span or 0", () => {
    expect(timeAhead("2096-01-31T12:00:00+02:00")).toBe("2096-01-31T10:00:00.000Z");
    expect(Date.parse(timeAhead("90d")) - Date.now()).toBeGreaterThan(89 * 86_400_000);
    for (const wrong of ["soon", "2096-02-30", "2096-01-31", ""]) expect(() => timeAhead(wrong)).toThrow();
    expect([overlap("0"), overlap("0s"), overlap("24h")]).toEqual([0, 0, 86_400]);
  });
});
