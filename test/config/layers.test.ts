import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TenantConfig } from "../../src/config/tenant-config.ts";
import { loadTenantFile } from "../../src/config/tenant-file.ts";
import { configErrorOf, directoryWith, tenantText } from "./support.ts";

type Files = Record<string, string>;

function load(files: Files): TenantConfig {
  return loadTenantFile(join(directoryWith(files), "acme/tenant.yaml"));
}

/** `file:line path message` of every problem, without the folder of the test. */
function problems(files: Files): string[] {
  return configErrorOf(() => load(files)).problems.map(
    ({ file, line, path, message }) =>
      `${file.replace(/^.*\/(?=[^/]+\/[^/]+$|base|other)/, "")}:${line} ${path} ${message.replace(/\/\S*\/(?=acme|\w+\.yaml)/g, "")}`,
  );
}

/** Where a value stands, without the folder of the test. */
const origin = ({ source }: TenantConfig, ...path: (string | number)[]) => {
  const { file, line } = source.positionOf(path);
  return `${file.split("/").at(-1)}:${line}`;
};

const OWN = tenantText({ extends: "../base.yaml", policy: "\n  feeBps: 50\n  jurisdictions: { blocked: [CU] }" });
const BASE = `rateLimit: { perMinute: 99 }
policy:
  feeBps: 100
  maxTradeUsd: 900
  jurisdictions:
    allowed: [US, CA]
    blocked: [IR, KP, SY]
`;

describe("a tenant file that extends another", () => {
  test("has its mappings merged key by key; lists and scalars are replaced; what neither states has its default", () => {
    const config = load({ "acme/tenant.yaml": OWN, "base.yaml": BASE });
    expect(config.policy).toEqual({
      feeBps: 50,
      maxTradeUsd: 900,
      jurisdictions: { allowed: ["US", "CA"], blocked: ["CU"] },
    });
    expect(config.rateLimit.perMinute).toBe(99);
    expect(config.server.port).toBe(8080);
    expect(config).not.toHaveProperty("extends");
  });

  test("knows of each value which file and line state it", () => {
    const config = load({ "acme/tenant.yaml": OWN, "base.yaml": BASE });
    expect(origin(config, "policy", "feeBps")).toBe("tenant.yaml:9");
    expect(origin(config, "policy", "maxTradeUsd")).toBe("base.yaml:4");
    expect(origin(config, "policy", "jurisdictions", "blocked", 0)).toBe("tenant.yaml:10");
    expect(origin(config, "policy", "jurisdictions", "allowed", 1)).toBe("base.yaml:6");
    expect(config.source.states(["rateLimit", "perMinute"])).toBe(true);
    expect(config.source.states(["server", "port"])).toBe(false);
    // The base's list is hidden, so its third entry is nowhere.
    expect(config.source.states(["policy", "jurisdictions", "blocked", 2])).toBe(false);
  });

  test("may extend several, the last one wins, and they may extend others", () => {
    const config = load({
      "acme/tenant.yaml": tenantText({ extends: "[../base.yaml, ../other.yaml]" }),
      "base.yaml": "extends: deep/root.yaml\npolicy: { feeBps: 1, maxTradeUsd: 1 }\n",
      "other.yaml": "policy: { feeBps: 2 }\n",
      "deep/root.yaml": "policy: { maxTradeUsd: 3, maxUserExposureUsd: 3 }\n",
    });
    expect(config.policy).toEqual({ feeBps: 2, maxTradeUsd: 1, maxUserExposureUsd: 3 });
    expect(origin(config, "policy", "maxUserExposureUsd")).toBe("root.yaml:1");
  });

  test("has another checksum when a base changes, and the file's own without bases", () => {
    const sha256 = (base: string) => load({ "acme/tenant.yaml": OWN, "base.yaml": base }).source.sha256;
    expect(sha256(BASE)).toBe(sha256(BASE));
    expect(sha256(BASE)).not.toBe(sha256(`${BASE}# changed\n`));
  });
});

describe("what is wrong in a base is told in the base", () => {
  test.each<[string, Files, string[]]>([
    [
      "a bad value",
      { "base.yaml": "policy:\n  feeBps: 9999\n" },
      ["base.yaml:2 policy.feeBps must be at most 1000 (got 9999)"],
    ],
    [
      "an unknown key",
      { "base.yaml": "\nrateLimits: {}\n" },
      ['base.yaml:2 rateLimits unknown key; did you mean "rateLimit"?'],
    ],
    [
      "a key that stands twice",
      { "base.yaml": "sandbox: true\nsandbox: true\n" },
      ["base.yaml:2 sandbox is repeated in the same mapping"],
    ],
    ["no YAML", { "base.yaml": "policy: [\n" }, expect.arrayContaining([expect.stringMatching(/^base\.yaml:1/)])],
    ["its tenant", { "base.yaml": "tenant: acme\n" }, ["base.yaml:1 tenant must be in the tenant's own file"]],
    [
      "a rule of several sections",
      { "base.yaml": "server: { port: 7, opsPort: 7 }\n" },
      ["base.yaml:1 server.opsPort must differ from server.port (7)"],
    ],
    ["a list", { "base.yaml": "- 1\n" }, [expect.stringContaining("extends ")]],
    ["a missing base", {}, [expect.stringMatching(/acme\/tenant\.yaml:7 extends .*base\.yaml does not exist/)]],
    [
      "a circle",
      { "base.yaml": "extends: other.yaml\n", "other.yaml": "\nextends: base.yaml\n" },
      [
        expect.stringMatching(
          /^other\.yaml:2 extends must not lead back to itself: .*base\.yaml -> .*other\.yaml -> .*base\.yaml$/,
        ),
      ],
    ],
  ])("%s", (_what, files, expected) => {
    expect(problems({ "acme/tenant.yaml": tenantText({ extends: "../base.yaml" }), ...files })).toEqual(expected);
  });

  test("a literal secret in a base is refused there and never shown", () => {
    const files = {
      "acme/tenant.yaml": tenantText({ extends: "../base.yaml", audit: undefined }),
      "base.yaml": "audit: { key: canary-0123456789 }\n",
    };
    const error = configErrorOf(() => load(files));
    expect(error.problems).toHaveLength(1);
    expect(error.problems[0]?.file).toMatch(/base\.yaml$/);
    expect(JSON.stringify([error.message, error.problems])).not.toContain("canary");
  });

  test("bases that each name two others are read a bounded number of times", () => {
    const files = Object.fromEntries(
      [...Array(25).keys()].map((level) => [`e${level}.yaml`, `extends: [e${level + 1}.yaml, e${level + 1}.yaml]\n`]),
    );
    const found = problems({ "acme/tenant.yaml": tenantText({ extends: "../e0.yaml" }), ...files });
    expect(found.filter((each) => each.includes("exceeds the 50 files"))).toEqual([
      expect.stringMatching(/e\d+\.yaml:1 extends\[\d\] exceeds the 50 files that a tenant file may extend$/),
    ]);
    expect(found.length).toBeLessThan(50);
  });

  test("extends of another kind is refused", () => {
    expect(problems({ "acme/tenant.yaml": tenantText({ extends: "7" }) })).toEqual([
      expect.stringContaining("tenant.yaml:7 extends must be a file such as ../base.yaml, or a list of files"),
    ]);
  });
});

describe("a base lies below the operator's directory, or a folder that pmctl.yaml lists", () => {
  /** The complaint about `extends`, in an operator's directory with these files beside a folder of others. */
  const refusals = (extended: string, prepare: (root: string) => void = () => undefined) => {
    const root = directoryWith({
      "ops/tenants/acme/tenant.yaml": tenantText({ extends: JSON.stringify(extended) }),
      "ops/.pmctl/servers/acme-1.json": '{ "rateLimit": "canary" }',
      "ops/.env": "rateLimit: canary\n",
      "ops/tenants/acme/.env.local": "rateLimit: canary\n",
      "ops/.git/config": "rateLimit: canary\n",
      "out/base.yaml": "rateLimit: canary\n",
    });
    prepare(root);
    const error = configErrorOf(() => loadTenantFile(join(root, "ops/tenants/acme/tenant.yaml")));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", exitCode: 6 });
    expect(error.message).not.toContain("canary");
    return error.problems.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`);
  };
  const OUT = "7:10 extends leads out of the operator's directory: list its folder in pmctl.yaml under secrets.files";
  const SECRET = "7:10 extends must be configuration: .pmctl, .git and .env hold secrets";

  test.each([
    ["/proc/self/environ", OUT],
    ["../../../out/base.yaml", OUT],
    ["../../../out/missing.yaml", OUT],
    ["../../.pmctl/servers/acme-1.json", SECRET],
    ["../../.pmctl/missing.json", SECRET],
    ["../../.env", SECRET],
    [".env.local", SECRET],
    ["../../.git/config", SECRET],
  ])("%s", (extended, complaint) => {
    expect(refusals(extended)).toEqual([complaint]);
  });

  test("links count as what they lead to", () => {
    const link = (target: string) => (root: string) => symlinkSync(target, join(root, "ops/tenants/acme/link.yaml"));
    expect(refusals("link.yaml", link("../../../out/base.yaml"))).toEqual([OUT]);
    expect(refusals("link.yaml", link("../../.env"))).toEqual([SECRET]);
  });

  test("a folder that the operator lists is a place of bases too", () => {
    const root = directoryWith({
      "ops/tenants/acme/tenant.yaml": tenantText({ extends: "../../../out/base.yaml" }),
      "ops/pmctl.yaml": "version: 1\nsecrets: { files: [../out] }\n",
      "out/base.yaml": "rateLimit: { perMinute: 7 }\n",
    });
    expect(loadTenantFile(join(root, "ops/tenants/acme/tenant.yaml")).rateLimit.perMinute).toBe(7);
  });
});
