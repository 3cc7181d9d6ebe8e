import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { TokenFault } from "../../src/domain/access/token-faults.ts";
import { BoundedCache } from "../../src/server/access/bounded-cache.ts";
import { UserTokens } from "../../src/server/access/user-tokens.ts";
import { JWT_SECRET, type TokenClaims, userToken } from "./support/harness.ts";

/** The time stands still, so that a leeway of thirty seconds is thirty seconds. */
const now = Date.UTC(2027, 0, 1) / 1000;
beforeAll(() => {
  vi.useFakeTimers({ now: now * 1000, toFake: ["Date"] });
});
afterAll(() => {
  vi.useRealTimers();
});
const DAY = 24 * 60 * 60;
const tokens = new UserTokens({ algorithm: "HS256", secret: JWT_SECRET });

/** A token that no library would make. */
function forge(header: object | string, payload: object | string, sign = (input: string) => hs256(input)): string {
  const encode = (part: object | string) =>
    Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${sign(input)}`;
}
const hs256 = (input: string, secret = JWT_SECRET) => createHmac("sha256", secret).update(input).digest("base64url");
const claims = { sub: "usr_1", iat: now, exp: now + 600 };

/** Every refusal reads the same to its caller; the operator learns the fault, by one word of the closed list. */
async function expectRefused(authorization: string | undefined, fault: TokenFault, verifier = tokens): Promise<void> {
  await expect(Promise.resolve().then(() => verifier.verify(authorization))).rejects.toMatchObject({
    code: "USER_REQUIRED",
    message: "A valid user token is required",
    detail: { fault },
  });
}

describe("a user token is accepted", () => {
  test.each<[string, TokenClaims, object]>([
    ["with the usual claims", {}, { id: "usr_1" }],
    ["with a jurisdiction in any case", { jurisdiction: "de" }, { id: "usr_1", jurisdiction: "DE" }],
    ["for exactly a day", { exp: now + DAY }, { id: "usr_1" }],
    ["expired within the leeway", { iat: now - 600, exp: now - 29 }, { id: "usr_1" }],
    ["from a clock a little ahead", { iat: now + 20, exp: now + 600 }, { id: "usr_1" }],
    ["with claims that mean nothing here", { role: "admin", nbf: now - 1 }, { id: "usr_1" }],
    ["for a user of 255 characters", { sub: "u".repeat(255) }, { id: "u".repeat(255) }],
  ])("%s", async (_name, given, user) => {
    expect(await tokens.verify(`Bearer ${await userToken(given)}`)).toEqual(user);
  });

  test.each(["bearer", "BEARER", "Bearer  "])("under the scheme %j", async (scheme) => {
    expect(await tokens.verify(`${scheme} ${await userToken()}`)).toEqual({ id: "usr_1" });
  });
});

describe("a user token is refused", () => {
  test.each<[string, TokenClaims, TokenFault]>([
    ["without exp", { exp: undefined }, "exp-missing"],
    ["without sub", { sub: undefined }, "sub-missing"],
    ["without iat", { iat: undefined }, "iat-missing"],
    ["with exp as a text", { exp: String(now + 600) }, "exp-invalid"],
    ["with iat as a text", { iat: String(now) }, "iat-invalid"],
    ["with a number as sub", { sub: 1 }, "sub-invalid"],
    ["with a list as sub", { sub: ["usr_1"] }, "sub-invalid"],
    ["with an empty sub", { sub: "" }, "sub-invalid"],
    ["with a sub of 256 characters", { sub: "u".repeat(256) }, "sub-invalid"],
    ["with a newline in sub", { sub: "usr_1\nadmin" }, "sub-invalid"],
    ["with a NUL in sub", { sub: "usr_1\0" }, "sub-invalid"],
    ["with a C1 control in sub", { sub: "usr_1\u0085" }, "sub-invalid"],
    ["that lives 25 hours", { iat: now, exp: now + 25 * 3600 }, "life-too-long"],
    ["that lives a day and a second", { iat: now, exp: now + DAY + 1 }, "life-too-long"],
    ["that lives for ever", { exp: 1e300 }, "life-too-long"],
    [
      "issued in the future, so that a short life never ends",
      { iat: now + 10 * DAY, exp: now + 10 * DAY + 600 },
      "iat-ahead",
    ],
    ["expired beyond the leeway", { iat: now - 600, exp: now - 30 }, "exp-past"],
    ["not valid yet", { nbf: now + 600 }, "nbf-ahead"],
    ["with a jurisdiction that is not a code", { jurisdiction: "XXX" }, "jurisdiction-invalid"],
    ["with a jurisdiction that is not a text", { jurisdiction: ["US"] }, "jurisdiction-invalid"],
    ["with null as jurisdiction", { jurisdiction: null }, "jurisdiction-invalid"],
    ["with nbf as a text", { nbf: String(now) }, "nbf-invalid"],
    ["issued two days ago for longer than a day", { iat: now - 2 * DAY, exp: now + 600 }, "life-too-long"],
  ])("%s", async (_name, given, fault) => {
    await expectRefused(`Bearer ${await userToken(given)}`, fault);
  });

  test.each<[string, string, TokenFault]>([
    ["signed with another secret", forge({ alg: "HS256" }, claims, (input) => hs256(input, "another")), "signature"],
    ["signed with nothing", forge({ alg: "HS256" }, claims, () => ""), "not-a-jwt"],
    ["under alg none", forge({ alg: "none" }, claims, () => ""), "not-a-jwt"],
    ["under alg none with a signature", forge({ alg: "none" }, claims), "algorithm"],
    ["under alg None", forge({ alg: "None" }, claims, () => ""), "not-a-jwt"],
    ["that names another algorithm", forge({ alg: "RS256" }, claims), "algorithm"],
    ["without an algorithm", forge({ typ: "JWT" }, claims), "header"],
    ["with a critical extension", forge({ alg: "HS256", crit: ["b64"], b64: false }, claims), "claims"],
    ["whose claims are a list", forge({ alg: "HS256" }, "[]"), "claims"],
    ["whose claims are not JSON", forge({ alg: "HS256" }, "{"), "claims"],
    ["whose header is not JSON", forge("x", claims), "header"],
  ])("%s", async (_name, token, fault) => {
    await expectRefused(`Bearer ${token}`, fault);
  });

  test("signed with a secret that is neither the current one nor a previous one", async () => {
    const others = ["a secret that is being replaced, of 32 bytes", "one before that, of 32 bytes and more"];
    const verifier = new UserTokens({ algorithm: "HS256", secret: JWT_SECRET, previous: others });
    for (const secret of [JWT_SECRET, ...others])
      expect(await verifier.verify(`Bearer ${await userToken({}, secret)}`)).toEqual({ id: "usr_1" });
    await expectRefused(`Bearer ${await userToken({}, "another secret, of 32 bytes and more")}`, "signature", verifier);
    await expectRefused(`Bearer ${await userToken({ exp: now - 60 }, others[0])}`, "exp-past", verifier);
  });

  test("signed with HS512 and the right secret", async () => {
    await expectRefused(`Bearer ${await userToken({}, JWT_SECRET, "HS512")}`, "algorithm");
  });

  test("with one character of the signature, the claims or the header changed", async () => {
    const parts = (await userToken()).split(".");
    for (const [index, fault] of [
      [0, "header"],
      [1, "signature"],
      [2, "signature"],
    ] as const) {
      const changed = parts.with(
        index,
        (parts[index] ?? "").replace(/.$/, (last) => (last === "A" ? "Q" : "A")),
      );
      if (changed.join(".") !== parts.join(".")) await expectRefused(`Bearer ${changed.join(".")}`, fault);
    }
  });

  test("in a header of another form", async () => {
    const token = await userToken();
    for (const header of [undefined, ""]) await expectRefused(header, "no-token");
    for (const header of [token, `Basic ${token}`, `Bearer ${token}, Bearer ${token}`, `Bearer ${token} x`])
      await expectRefused(header, "not-a-jwt");
    await expectRefused("Bearer", "not-a-jwt");
    await expectRefused("Bearer a.b", "not-a-jwt");
    await expectRefused("Bearer a.b.c.d.e", "not-a-jwt");
    await expectRefused(`Bearer ${"a".repeat(15_000)}.b.c`, "header");
  });
});

test("issuer and audience are checked when the tenant names them", async () => {
  const strict = new UserTokens({
    algorithm: "HS256",
    secret: JWT_SECRET,
    issuer: "https://id.acme",
    audience: "pmctl",
  });
  const good = { iss: "https://id.acme", aud: ["other", "pmctl"] };
  expect(await strict.verify(`Bearer ${await userToken(good)}`)).toEqual({ id: "usr_1" });
  const bad: [TokenClaims, TokenFault][] = [
    [{ ...good, iss: "https://evil" }, "iss-wrong"],
    [{ ...good, aud: "other" }, "aud-wrong"],
    [{ aud: "pmctl" }, "iss-missing"],
    [{ iss: good.iss }, "aud-missing"],
  ];
  for (const [claims, fault] of bad) await expectRefused(`Bearer ${await userToken(claims)}`, fault, strict);
  await expectRefused(`Bearer ${await userToken()}`, "iss-missing", strict);
});

test("a verified token is remembered, and no longer than it is valid", async () => {
  const authorization = `Bearer ${await userToken({ iat: now - 600, exp: now })}`;
  expect(await tokens.verify(authorization)).toEqual({ id: "usr_1" });
  vi.setSystemTime((now + 30) * 1000 - 1);
  expect(tokens.verify(authorization)).toEqual({ id: "usr_1" });
  vi.setSystemTime((now + 30) * 1000);
  await expectRefused(authorization, "exp-past");
});

test("100,000 spellings of one token are remembered as one", async () => {
  const verifier = new UserTokens({ algorithm: "HS256", secret: JWT_SECRET });
  const token = await userToken();
  const cases = Array.from({ length: 64 }, (_, bits) =>
    [..."bearer"].map((letter, index) => ((bits >> index) & 1 ? letter.toUpperCase() : letter)).join(""),
  );
  await verifier.verify(`Bearer ${token}`);
  for (let spaces = 1; spaces <= 1600; spaces++)
    for (const scheme of cases) verifier.verify(`${scheme}${" ".repeat(spaces)}${token}`);
  expect(verifier.remembered).toBe(1);
});

test("more tokens than there is room for leave the memory bounded, and those in use in it", async () => {
  const verifier = new UserTokens({ algorithm: "HS256", secret: JWT_SECRET });
  const kept = `Bearer ${forge({ alg: "HS256" }, claims)}`;
  await verifier.verify(kept);
  for (let jti = 0; jti < 11_000; jti++) {
    await verifier.verify(`Bearer ${forge({ alg: "HS256" }, { ...claims, jti })}`);
    if (jti % 1000 === 0) verifier.verify(kept);
  }
  expect(verifier.remembered).toBeLessThanOrEqual(10_000);
  // Answered at once, so without a signature to be checked.
  expect(verifier.verify(kept)).toEqual({ id: "usr_1" });
  const cache = new BoundedCache<number>(1000);
  for (let key = 0; key < 100_000; key++) cache.set(String(key), key);
  expect([cache.size <= 1000, cache.get("99999"), cache.get("0")]).toEqual([true, 99_999, undefined]);
});
