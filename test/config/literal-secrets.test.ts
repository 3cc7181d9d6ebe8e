import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { complaints, parse, problemsOf, refusal, tenantText } from "./support.ts";

const CANARY = "hunter2-correct-horse_battery";

/** Everything of an error that could reach a terminal or a log. */
function everythingOf(error: ConfigError): string {
  return [error.message, error.stack, JSON.stringify(error.problems), JSON.stringify(error.detail)].join("\n");
}

describe("a literal secret is refused, and never shown", () => {
  const places: [where: string, sections: Record<string, string>][] = [
    ["a key", { keys: `{ admin: [{ name: ops, secret: ${CANARY} }] }` }],
    ["a key, quoted", { keys: `{ admin: [{ name: ops, secret: "${CANARY}" }] }` }],
    [
      "a key over several lines",
      { keys: `\n  admin:\n    - name: ops\n      secret: |\n        ${CANARY}\n        ${CANARY}` },
    ],
    ["the whole entry of a key", { keys: `{ admin: [${CANARY}] }` }],
    ["all keys", { keys: CANARY }],
    ["the JWT secret", { auth: `{ jwt: { algorithm: HS256, secret: ${CANARY} } }` }],
    ["the name of a variable", { audit: `{ key: { env: ${CANARY} } }` }],
    ["a mapping in the place of a reference", { audit: `{ key: { ${CANARY} } }` }],
    ["a list in the place of a reference", { audit: `{ key: [${CANARY}] }` }],
    ["an unknown key of a reference", { audit: `{ key: { env: ACME_AUDIT, ${CANARY}: 1 } }` }],
    ["a misspelt reference", { audit: `{ key: { evn: ${CANARY} } }` }],
    ["a misspelt key", { audit: `{ kee: ${CANARY} }` }],
    ["a misspelt section", { adit: `{ key: { deep: [{ deeper: ${CANARY} }] } }` }],
    ["webhook secrets", { webhooks: `{ inbound: { secrets: [${CANARY}], stripe: ${CANARY} } }` }],
    [
      "an outgoing webhook",
      { webhooks: `{ outbound: [{ name: a, url: 'https://a.example', events: [order.filled], secret: ${CANARY} }] }` },
    ],
    ["the database", { database: `postgres://pmctl:${CANARY}@db.example/pmctl` }],
    ["the database's address", { database: `{ url: "postgres://pmctl:${CANARY}@db.example/pmctl" }` }],
    ["a header", { oracle: `{ sources: { pyth: { headers: { authorization: "Bearer ${CANARY}" } } } }` }],
    ["the credentials of an address", { policy: `{ resolution_url: "https://user:${CANARY}@a.example/" }` }],
    ["a parameter of an address", { policy: `{ resolution_url: "https://a.example/?apikey=${CANARY}" }` }],
    ["the resolution secret", { oracle: `{ resolutionSecret: ${CANARY} }` }],
    ["an anchor", { audit: `{ key: &${CANARY} { env: 1 } }` }],
    ["an alias", { audit: `{ key: *${CANARY} }` }],
    ["a tag", { audit: `{ key: !${CANARY} x }` }],
  ];
  test.each(places)("in the place of %s", (_where, sections) => {
    // The neighbouring line is wrong too, so that frames around it are drawn.
    const error = refusal(tenantText({ ...sections, kyc: "{ requird: true }" }));
    expect(everythingOf(error)).not.toMatch(/hunter2|correct-horse/);
    expect(error.problems.length).toBeGreaterThan(0);
  });

  test("arguments of a program that prints a secret are not shown", () => {
    const text = tenantText({ audit: `{ key: { exec: [op, read, ${CANARY}] } }`, kyc: "{ requird: true }" });
    expect(everythingOf(refusal(text))).not.toContain(CANARY);
  });

  test("nor what stands commented out beside a mistake", () => {
    const text = `${tenantText({ kyc: "1" })}# audit: { key: ${CANARY} }\n`;
    expect(everythingOf(refusal(text))).not.toContain(CANARY);
  });

  test("nor a text whose missing quote has swallowed others", () => {
    const text = tenantText({ name: `"Acme\n  audit: { key: ${CANARY} }\n${" x".repeat(100)}"`, kyc: "1" });
    const error = refusal(text);
    expect(error.problems.map(({ path }) => path)).toEqual(["name", "kyc"]);
    expect(everythingOf(error)).not.toContain(CANARY);
  });

  test("the sentence says what to write instead", () => {
    expect(complaints({ audit: `{ key: ${CANARY} }` })).toEqual([
      "audit.key: must be a reference such as { env: ACME_KEY }; a literal secret does not belong in this file",
    ]);
    expect(complaints({ audit: "{ key: { env: acme } }" })).toEqual([
      "audit.key.env: must be the name of an environment variable, in capitals",
    ]);
    expect(complaints({ keys: "{ admin: [x] }" })).toEqual([
      "keys.admin[0]: must be an entry such as { name: ops, secret: { env: ACME_ADMIN_KEY } }",
    ]);
  });

  test("what is no secret is shown: names of variables and files, and the value that is wrong", () => {
    const [problem] = problemsOf(tenantText({ kyc: "{ required: 1 }" }));
    expect(problem?.frame).toContain("audit: { key: { env: ACME_AUDIT_KEY } }");
    expect(problem?.message).toBe("must be true or false (got 1)");
  });

  test("in text that is not sound YAML only the names of settings are shown", () => {
    const text = tenantText({ audit: `{ key: "${CANARY} }`, name: CANARY });
    const error = refusal(text);
    expect(everythingOf(error)).not.toContain("hunter2");
    expect(error.message).toContain("audit: { key: ***");
  });
});

describe("arbitrary text", () => {
  const noise = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.constantFrom(
      "\n",
      "\n  ",
      ": ",
      "- ",
      "{",
      "}",
      "[",
      "]",
      '"',
      "'",
      "|\n",
      "#",
      "&a ",
      "*a",
      "!t ",
      "? ",
      "\t",
      "---\n",
      "%YAML 1.1\n",
      "__proto__: ",
      "<<: ",
    ),
  );

  test("is refused with a ConfigError, or accepted; nothing else is ever thrown", () => {
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 30 }), (pieces) => {
        acceptOrRefuse(pieces.join(""));
      }),
      { seed: 20_270_131, numRuns: 1000 },
    );
  });

  test("and a sound file broken anywhere never shows its literal secret", () => {
    const whole = `${tenantText({ name: "Acme Markets", policy: "{ feeBps: 100 }" })}oracle:\n  resolutionSecret: ${CANARY}\nserver: { port: 1 }\n`;
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(3), noise, (at, removed, inserted) => {
        // A break within the secret itself leaves pieces that no test could tell from other text.
        const secretAt = whole.indexOf(CANARY);
        fc.pre(at + removed <= secretAt || at >= secretAt + CANARY.length);
        const error = acceptOrRefuse(whole.slice(0, at) + inserted + whole.slice(at + removed));
        if (error) expect(everythingOf(error)).not.toMatch(/hunter2|correct|horse|battery/);
      }),
      { seed: 20_270_131, numRuns: 500 },
    );
  });

  test.each(["[", "{a: ", "- ", "&a [*a, ", "a: {b: "])(
    "%j repeated forty thousand times is refused in time",
    (piece) => {
      const before = process.cpuUsage();
      expect(acceptOrRefuse(piece.repeat(40_000))).toBeInstanceOf(ConfigError);
      expect(workedMs(before)).toBeLessThan(5000);
    },
  );

  test("a megabyte of unknown keys is refused in time", () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `key${index}: { a: 1 }`).join("\n");
    const before = process.cpuUsage();
    expect(problemsOf(text)).toHaveLength(101);
    expect(workedMs(before)).toBeLessThan(20_000);
  });

  /** The processor's time, which does not count what other programs of a busy machine take. */
  function workedMs(since: NodeJS.CpuUsage): number {
    const { user, system } = process.cpuUsage(since);
    return (user + system) / 1000;
  }

  function acceptOrRefuse(text: string): ConfigError | undefined {
    try {
      parse(text);
      return undefined;
    } catch (error) {
      if (error instanceof ConfigError) return error;
      throw error;
    }
  }
});
