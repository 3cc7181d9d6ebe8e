import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadTenant, loadTenantFile } from "../../src/config/tenant-file.ts";
import { Fault } from "../../src/domain/fault.ts";
import { DEFAULT_POLICY, mergePolicy } from "../../src/domain/policy/policy.ts";
import { complaints, configErrorOf, directoryWith, parse, problemsOf, refusal, tenantText } from "./support.ts";

describe("what a file need not state", () => {
  test("has the documented defaults", () => {
    const { source, ...config } = parse(tenantText());
    expect(config).toMatchObject({
      name: "acme",
      sandbox: false,
      server: { host: "127.0.0.1", port: 8080, opsPort: 9464, trustProxy: [] },
      database: "embedded",
      kyc: { required: true },
      webhooks: { inbound: { secrets: [], stripe: [] }, outbound: [] },
      treasury: { capitalUsd: 100_000 },
      markets: { liquidityUsd: 1000, files: [] },
      rateLimit: { perMinute: 20 },
      oracle: { sweepSeconds: 30, sources: {}, venues: {} },
      network: { allowPrivate: [], allowPorts: [], allowHosts: [] },
      embed: { allowedOrigins: [] },
      cors: { origins: [] },
    });
    expect(config.rateLimit.webhooksPerMinute).toBeUndefined();
    expect(source).toMatchObject({ file: "tenants/acme/tenant.yaml", directory: join(process.cwd(), "tenants/acme") });
  });

  test("an admin key may do everything from anywhere; what is stated is kept in one order", () => {
    const kept = (text: string) =>
      parse(tenantText({ keys: `{ admin: [{ name: ops, secret: { env: ACME_ADMIN_KEY } ${text} }] }` })).keys.admin[0];
    expect(kept("")).toMatchObject({ scopes: ["*"], from: [] });
    expect(kept(", scopes: [settle, read, settle], from: [fd00::/8, 10.0.0.1, '::ffff:10.2.0.0/112']")).toMatchObject({
      scopes: ["read", "settle"],
      from: ["10.0.0.1/32", "10.2.0.0/16", "fd00::/8"],
    });
    expect(kept(", scopes: [read, '*']")).toMatchObject({ scopes: ["*"] });
  });

  test("policy fields that are not stated stay unmanaged", () => {
    expect(parse(tenantText()).policy).toEqual({});
    expect(parse(tenantText({ policy: "{ feeBps: 50, jurisdictions: { blocked: [us] } }" })).policy).toEqual({
      feeBps: 50,
      jurisdictions: { blocked: ["US"] },
    });
    expect(mergePolicy(DEFAULT_POLICY, parse(tenantText({ policy: "{ feeBps: 50 }" })).policy)).toEqual({
      ...DEFAULT_POLICY,
      feeBps: 50,
    });
  });

  test.each(["version", "tenant", "baseUrl", "keys", "auth", "audit"])("%s must be stated", (section) => {
    expect(complaints({ [section]: undefined })).toEqual([`${section}: is required`]);
  });
});

describe("what is decoded", () => {
  test("spans become milliseconds, percentages ratios, timestamps instants, single addresses ranges", () => {
    const config = parse(
      tenantText({
        keys: "{ admin: [{ name: ops, secret: { file: k }, expires: 2030-01-01T00:00:00Z }] }",
        server: "{ trustProxy: [10.0.0.1, 10.0.0.0/8, '::1'] }",
        oracle: "{ venues: { pm: { btc: { maxAge: 5m, maxSpread: 0.5%, maxJump: 10% } } } }",
      }),
    );
    expect(config.oracle.venues.pm?.btc).toMatchObject({ maxAge: 300_000, maxSpread: 0.005, maxJump: 0.1 });
    expect(config.keys.admin[0]?.expires).toBe(Date.UTC(2030, 0, 1));
    expect(config.server.trustProxy).toEqual(["10.0.0.1/32", "10.0.0.0/8", "::1/128"]);
  });

  test("a trailing slash of baseUrl is dropped", () => {
    expect(parse(tenantText({ baseUrl: "https://Predict.acme.example/" })).baseUrl).toBe(
      "https://predict.acme.example",
    );
  });

  test("the oracle section of the operator's contract is read as it stands there", () => {
    const destinations = '{ "env ACME_FEED_TOKEN": [prices.acme.example], "env ACME_PYTH_KEY": [hermes.pyth.network] }';
    const directory = directoryWith({ "pmctl.yaml": `version: 1\nsecrets: { destinations: ${destinations} }\n` });
    const { oracle } = parse(
      tenantText({
        sandbox: "true",
        oracle: `
  sweepSeconds: 30
  resolutionSecret: { env: ACME_RESOLUTION_SECRET }
  sources:
    house: { url: "https://prices.acme.example/{id}", headers: { authorization: { env: ACME_FEED_TOKEN }, accept: application/json },
             price: { pointer: /last }, time: { pointer: /ts, unit: s }, okWhen: { pointer: /status, notEquals: error }, timeout: 5s }
    pyth: { headers: { authorization: { env: ACME_PYTH_KEY } } }
    kraken: { price: { pointer: "/result/*/-1/4", expoPointer: /expo }, conf: { pointer: /conf } }
    sandbox: { simulated: { start: 100000, volatility: 0.02, seed: 7 } }
  venues:
    pm:   { btc: { sources: [{ use: coinbase, id: BTC-USD }, { use: kraken, id: XBTUSD }], quorum: 2, aggregate: median, maxAge: 60s, maxSpread: 0.5%, bounds: [1000, 10000000] } }
    acme: { steel: { sources: [{ use: house, id: steel }], maxAge: 5m } }`,
      }),
      join(directory, "tenants/acme/tenant.yaml"),
    );
    expect(oracle.sources.house).toMatchObject({ timeout: 5000, time: { pointer: "/ts", unit: "s" } });
    expect(oracle.sources.sandbox).toEqual({ simulated: { start: 100_000, volatility: 0.02, seed: 7 } });
    expect(oracle.venues.acme?.steel).toEqual({ sources: [{ use: "house", id: "steel" }], maxAge: 300_000 });
  });

  test("Norway is Norway: an unquoted NO is a country", () => {
    expect(
      parse(tenantText({ policy: "{ jurisdictions: { blocked: [NO, no] } }" })).policy.jurisdictions?.blocked,
    ).toEqual(["NO", "NO"]);
  });
});

describe("what a file is refused for", () => {
  const cases: [what: string, sections: Record<string, string>, complaint: string | RegExp][] = [
    ["a tenant id with capitals", { tenant: "Acme" }, /^tenant: must be a lower-case letter/],
    ["a file of another version", { version: "2" }, "version: must be 1 (got 2)"],
    ["http for a public host", { baseUrl: "http://acme.example" }, /^baseUrl: must begin with https:/],
    ["a base address with a path", { baseUrl: "https://acme.example/app" }, /^baseUrl: .* without a path/],
    [
      "money with seven decimals",
      { treasury: "{ capitalUsd: 1.0000001 }" },
      /^treasury.capitalUsd: must have at most 6 decimals/,
    ],
    ["money as text", { treasury: '{ capitalUsd: "100" }' }, 'treasury.capitalUsd: must be a number (got "100")'],
    ["money without end", { treasury: "{ capitalUsd: .inf }" }, /^treasury.capitalUsd: must be a number/],
    ["no liquidity", { markets: "{ liquidityUsd: 0 }" }, "markets.liquidityUsd: must be more than 0 (got 0)"],
    ["a fee over ten percent", { policy: "{ feeBps: 20000 }" }, "policy.feeBps: must be at most 1000 (got 20000)"],
    [
      "a boolean as a country",
      { policy: "{ jurisdictions: { blocked: [false] } }" },
      'policy.jurisdictions.blocked[0]: must be a text: quote the code ("NO") (got false)',
    ],
    [
      "tiers with a gap",
      { policy: "{ suitabilityThresholds: { tiers: [{ minScore: 2, capUsd: 5 }] } }" },
      /tiers\[0\].minScore: the first tier must start at 0/,
    ],
    [
      "tiers that overlap",
      { policy: "{ suitabilityThresholds: { tiers: [{ minScore: 0, capUsd: 5 }, { minScore: 0, capUsd: 9 }] } }" },
      /tiers\[1\].minScore: tiers must ascend/,
    ],
    [
      "a tier that no score reaches",
      {
        policy:
          "{ suitabilityThresholds: { blockBelow: 5, tiers: [{ minScore: 0, capUsd: 5 }, { minScore: 5, capUsd: 9 }] } }",
      },
      /tiers\[0\].minScore: no score reaches this tier/,
    ],
    [
      "two keys of one name",
      { keys: "{ admin: [{ name: a, secret: { env: ACME_A } }], public: [{ name: a, secret: { env: ACME_B } }] }" },
      'keys.public[0].name: must be unique: "a" is already used above',
    ],
    ["a server with too little memory", { server: "{ memoryMb: 64 }" }, /^server.memoryMb: must be at least 128/],
    ["two ports that are one", { server: "{ port: 9000, opsPort: 9000 }" }, /^server.opsPort: must differ/],
    [
      "a range that is none",
      { server: "{ trustProxy: [10.1/8] }" },
      /^server.trustProxy\[0\]: must be an address range/,
    ],
    ["an origin with a path", { cors: "{ origins: ['https://a.example/'] }" }, /^cors.origins\[0\]: must be an origin/],
    ["a wildcard origin", { embed: "{ allowedOrigins: ['*'] }" }, /^embed.allowedOrigins\[0\]: must be/],
    [
      "HS256 with a key set",
      { auth: "{ jwt: { algorithm: HS256, jwks: { file: a } } }" },
      "auth.jwt.secret: is required",
    ],
    [
      "a JWT algorithm of another kind",
      { auth: "{ jwt: { algorithm: none, secret: { env: ACME_A } } }" },
      /^auth.jwt.algorithm: must be one of HS256, ES256, EdDSA, RS256/,
    ],
    [
      "an unknown event",
      {
        webhooks:
          "{ outbound: [{ name: a, url: 'https://a.example', events: [order.fild], secret: { env: ACME_A } }] }",
      },
      /did you mean "order.filled"\?/,
    ],
    [
      "simulated prices with real money",
      { oracle: "{ sources: { s: { simulated: { start: 1 } } } }" },
      "oracle.sources.s.simulated: needs sandbox: true, because the prices are invented",
    ],
    [
      "a source that gives no time",
      { oracle: "{ sources: { s: { url: 'https://a.example', price: { pointer: /p } } } }" },
      "oracle.sources.s.time: is required",
    ],
    [
      "a feed of a source that is not there",
      { oracle: "{ venues: { pm: { btc: { sources: [{ use: coinbas, id: x }] } } } }" },
      /no source with this name; did you mean "coinbase"\?/,
    ],
    [
      "a quorum that cannot be",
      { oracle: "{ venues: { pm: { btc: { quorum: 2, sources: [{ use: coinbase, id: x }] } } } }" },
      /btc.quorum: must be at most the number of independent sources, 1/,
    ],
    [
      "an own feed without sources",
      { oracle: "{ venues: { acme: { x: { maxAge: 5s } } } }" },
      "oracle.venues.acme.x.sources: is required",
    ],
    [
      "bounds upside down",
      { oracle: "{ venues: { pm: { btc: { bounds: [2, 1] } } } }" },
      /btc.bounds: must be \[lowest, highest\]/,
    ],
    ["a span without a unit", { oracle: "{ venues: { pm: { btc: { maxAge: 60 } } } }" }, /btc.maxAge: must be a text/],
    [
      "an outgoing address by http",
      { policy: "{ resolution_url: 'http://10.0.0.9/r' }" },
      /^policy.resolution_url: must begin with https/,
    ],
    ["a section that is no mapping", { rateLimit: "20" }, "rateLimit: must be a mapping (key: value)"],
    ["a list where a mapping stands", { server: "[]" }, "server: must be a mapping (key: value) (got a list)"],
  ];
  test.each(cases)("%s", (_what, sections, complaint) => {
    expect(complaints(sections)).toContainEqual(
      typeof complaint === "string" ? complaint : expect.stringMatching(complaint),
    );
  });

  test("http is legal for base addresses of loopback hosts, and for what network.allowPrivate names", () => {
    for (const host of ["localhost:8080", "127.0.0.1:3000", "[::1]:8080", "demo.localhost"])
      expect(parse(tenantText({ baseUrl: `http://${host}` })).baseUrl).toBe(`http://${host}`);
    const network = "{ allowPrivate: [10.0.0.0/8, '::1/128'] }";
    expect(() => parse(tenantText({ network, policy: "{ resolution_url: 'http://10.0.0.9/r' }" }))).not.toThrow();
    expect(() => parse(tenantText({ network, policy: "{ resolution_url: 'http://[::1]:81/r' }" }))).not.toThrow();
    expect(complaints({ network, policy: "{ resolution_url: 'http://192.168.0.9/r' }" })).toHaveLength(1);
  });

  describe("an outgoing address at a port or host that the file does not allow", () => {
    const PORT = "its port must be 80, 443 or one of network.allowPorts";
    const HOST = "its host must be one of network.allowHosts";
    const PRIVATE = "its host is neither a public address nor in network.allowPrivate";
    const places = (url: string): [Record<string, string>, string][] => [
      [{ policy: `{ resolution_url: '${url}' }` }, "policy.resolution_url"],
      [{ auth: `{ jwt: { algorithm: RS256, jwks: { url: '${url}' } } }` }, "auth.jwt.jwks.url"],
      [
        { oracle: `{ sources: { own: { url: '${url}', price: { pointer: /p }, time: { pointer: /t, unit: s } } } }` },
        "oracle.sources.own.url",
      ],
      [
        { webhooks: `{ outbound: [{ name: a, url: '${url}', secret: { env: ACME_OUT }, events: [order.filled] }] }` },
        "webhooks.outbound[0].url",
      ],
      [
        { audit: `{ key: { env: ACME_AUDIT_KEY }, anchors: { url: '${url}', secret: { env: ACME_ANCHOR } } }` },
        "audit.anchors.url",
      ],
    ];
    const said = (url: string, network?: string) =>
      places(url).map(([sections, path]) => {
        try {
          parse(tenantText({ ...sections, ...(network && { network }) }));
          return undefined;
        } catch (error) {
          const [problem] = (error as ConfigError).problems;
          expect([problem?.path, problem?.line]).toEqual([path, expect.any(Number)]);
          return problem?.message;
        }
      });
    const all = (message: string | undefined) => Array.from({ length: 5 }, () => message);

    test.each([
      ["https://x.example:8443/a", undefined, PORT],
      ["https://x.example:8443/a", "{ allowPorts: [8443] }", undefined],
      ["https://x.example:80/a", undefined, undefined],
      ["https://93.184.216.34:8443/a", "{ allowPrivate: [10.0.0.0/8] }", PORT],
      ["https://10.0.0.1:8443/a", "{ allowPrivate: [10.0.0.0/8] }", undefined],
      ["https://10.0.0.1/a", undefined, PRIVATE],
      ["https://10.0.0.1/a", "{ allowPrivate: [192.168.0.0/16] }", PRIVATE],
      ["https://0x7f.1/a", undefined, PRIVATE],
      ["https://169.254.169.254/a", "{ allowPorts: [8443] }", PRIVATE],
      ["https://[::ffff:10.0.0.1]/a", undefined, PRIVATE],
      ["https://[fd00::1]:8443/a", undefined, PRIVATE],
      ["https://[fd00::1]/a", "{ allowPrivate: ['fd00::/8'] }", undefined],
      ["https://93.184.216.34/a", undefined, undefined],
      ["https://x.example/a", "{ allowHosts: [y.example] }", HOST],
      ["https://X.Example./a", "{ allowHosts: [x.example] }", undefined],
      ["https://a.x.example/a", "{ allowHosts: ['*.x.example'] }", undefined],
      ["https://a.b.x.example/a", "{ allowHosts: ['*.x.example'] }", HOST],
      ["https://10.0.0.1/a", "{ allowPrivate: [10.0.0.0/8], allowHosts: [x.example] }", HOST],
    ])("%s with network %s: %s", (url, network, message) => {
      expect(said(url, network)).toEqual(all(message));
    });

    test.each([
      "https://x.example",
      "x.example:443",
      "x.example/a",
      "a@x.example",
      "*",
      "*.*.example",
      "a.*.example",
      "*.10.0.0.1",
      "a b",
      ".",
    ])("%j is no host", (host) => {
      expect(complaints({ network: JSON.stringify({ allowHosts: [host] }) })).toEqual([
        expect.stringContaining(
          "network.allowHosts[0]: must be a host such as prices.acme.example or *.feeds.example, without scheme and port",
        ),
      ]);
    });
  });

  test("a misspelt key at any depth, with the name that was probably meant", () => {
    const text = tenantText({ nmae: "Acme", kyc: "{ requird: true }", policy: "{ jurisdictions: { alowed: [] } }" });
    expect(problemsOf(text).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'nmae: unknown key; did you mean "name"?',
      'kyc.requird: unknown key; did you mean "required"?',
      'policy.jurisdictions.alowed: unknown key; did you mean "allowed"?',
    ]);
    expect(complaints({ kyc: "{ whatever: 1 }" })).toEqual([
      "kyc.whatever: unknown key; known here: required, provider",
    ]);
  });

  test("the file of another folder's tenant", () => {
    expect(refusal(tenantText(), "tenants/other/tenant.yaml").problems).toMatchObject([
      { path: "tenant", line: 2, column: 9, message: 'must be the name of its folder, "other" (got "acme")' },
    ]);
  });

  test("everything that is wrong at once, so that one run shows it all", () => {
    const text = tenantText({
      audit: undefined,
      server: "{ port: 70000, hots: x }",
      policy: "{ feeBps: -1, suitabilityThresholds: { tiers: [{ minScore: 3, capUsd: 1 }] } }",
      keys: "{ admin: [{ name: a, secret: { env: ACME_A } }, { name: a, secret: { env: ACME_B } }] }",
    });
    expect(
      problemsOf(text)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual([
      "audit",
      "keys.admin[1].name",
      "policy.feeBps",
      "policy.suitabilityThresholds.tiers[0].minScore",
      "server.hots",
      "server.port",
    ]);
  });
});

describe("files that are no files", () => {
  test.each<[string, Record<string, string | Buffer>, string]>([
    ["missing", {}, "does not exist"],
    ["empty", { "acme/tenant.yaml": "# nothing\n" }, "is empty; `pmctl init` writes one to start from"],
    ["a folder", { "acme/tenant.yaml/x": "" }, "is not a file"],
    ["larger than 1 MiB", { "acme/tenant.yaml": "#".repeat(1024 * 1024 + 1) }, "is larger than 1 MiB (1048577 bytes)"],
    ["not text", { "acme/tenant.yaml": Buffer.from([0xff, 0xfe, 0x00]) }, "is not UTF-8 text"],
    ["no mapping", { "acme/tenant.yaml": "just a text\n" }, "must be a mapping (key: value)"],
  ])("a file that is %s is refused with one sentence", (_what, files, message) => {
    const file = join(directoryWith(files), "acme/tenant.yaml");
    const error = configErrorOf(() => loadTenantFile(file));
    expect(error.problems).toMatchObject([{ file, line: 1, column: 1, path: "", message }]);
    expect(error.message).toContain(`${file}:1:1  ${message}`);
  });

  test("the refusal is a CONFIG_INVALID fault that exits with 6", () => {
    const error = refusal("");
    expect(error).toBeInstanceOf(Fault);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: "CONFIG_INVALID", exitCode: 6 });
  });
});

describe("loadTenant", () => {
  test("reads the markets beside the file, and says what is wrong in all files at once", () => {
    const market =
      "{ key: a, question: Q?, category: x, kind: cpmm, p0: 0.5, closeAt: 2030-01-01T00:00:00Z, resolutionRef: r }";
    const files = {
      "acme/tenant.yaml": tenantText({ markets: "{ files: [markets/*.yaml] }" }),
      "acme/markets/a.yaml": market,
    };
    const { config, markets } = loadTenant(join(directoryWith(files), "acme/tenant.yaml"));
    expect(config.tenant).toBe("acme");
    expect(markets).toMatchObject([{ key: "a", state: "open", closeAt: Date.UTC(2030, 0, 1) }]);

    const broken = { "acme/tenant.yaml": `${files["acme/tenant.yaml"]}kyc: 1\n`, "acme/markets/a.yaml": "{ key: A }" };
    const error = configErrorOf(() => loadTenant(join(directoryWith(broken), "acme/tenant.yaml")));
    expect(error.problems.map(({ path }) => path)).toEqual(expect.arrayContaining(["kyc", "key", "question"]));
  });
});
