import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { KycEvent } from "../../src/contract/resources/inbound.ts";
import {
  type KycFinding,
  kycProvider,
  readOnfido,
  readPersona,
  readSumsub,
  readVeriff,
} from "../../src/providers/kyc.ts";
import {
  onfidoCheck,
  onfidoRun,
  personaInquiry,
  sumsubRed,
  sumsubReviewed,
  veriffDecision,
  veriffEvent,
  veriffFullAuto,
} from "./fixtures/kyc.ts";

const AT = "2024-02-21T13:23:19.321Z";
const NOW = Date.parse(AT);
const BODY = Buffer.from('{"type":"any",  "bytes":"☂"}\n');
const SECRETS = ["the one before it, long enough", "the secret of these tests"] as const;

type Read = (body: Record<string, unknown>) => KycFinding;

describe("what an identity provider says", () => {
  test.each<[string, Read, object, string]>([
    ["a green review of Sumsub", readSumsub, sumsubReviewed, "passed"],
    ["a final red one", readSumsub, sumsubRed("FINAL"), "failed"],
    ["a red one that says no more", readSumsub, sumsubRed(), "failed"],
    ["a red one that may be tried again", readSumsub, sumsubRed("RETRY"), "retry"],
    ["a workflow of Sumsub", readSumsub, { ...sumsubReviewed, type: "applicantWorkflowCompleted" }, "passed"],
    ["an approved inquiry of Persona", readPersona, personaInquiry("inquiry.approved"), "passed"],
    ["a declined one", readPersona, personaInquiry("inquiry.declined"), "failed"],
    ["a failed one", readPersona, personaInquiry("inquiry.failed"), "failed"],
    ["one left to a person", readPersona, personaInquiry("inquiry.marked-for-review"), "inquiry.marked-for-review"],
    ["an approval of Veriff", readVeriff, veriffDecision("approved"), "passed"],
    ["its refusal", readVeriff, veriffDecision("declined"), "failed"],
    ["its wish for another try", readVeriff, veriffDecision("resubmission_requested"), "resubmission_requested"],
    ["its automatic decision", readVeriff, veriffFullAuto("declined"), "failed"],
    ["an approved run of Onfido", readOnfido, onfidoRun("approved"), "passed"],
    ["a declined one of it", readOnfido, onfidoRun("declined"), "failed"],
    ["one for manual review", readOnfido, onfidoRun("review"), "review"],
  ])("in %s is a result in our own shape", (_name, read, body, status) => {
    const result = read(body as Record<string, unknown>);
    expect(result).toMatchObject({ userId: "usr_7", status });
    const event = KycEvent.parse({ ...result, tenantId: "acme" });
    expect(event.verifiedAt).toBe(NOW);
  });

  test("about how far a check is, is only news", () => {
    const pending = readSumsub({ ...sumsubReviewed, type: "applicantPending" });
    expect(pending).toEqual({ news: "applicantPending", provider: "sumsub", userId: "usr_7" });
    const completed = readPersona(personaInquiry("inquiry.completed"));
    expect(completed).toEqual({ news: "inquiry.completed", provider: "persona", userId: "usr_7" });
  });

  test("without a user is only news, unless it decides: then it is refused with the name of the missing field", () => {
    expect(readVeriff(veriffEvent)).toMatchObject({ news: expect.any(String), provider: "veriff" });
    expect(readOnfido(onfidoCheck)).toMatchObject({ news: "check.completed", provider: "onfido" });
    const account = { data: { attributes: { name: "account.created" } } };
    expect(readPersona(account)).toEqual({ news: "account.created", provider: "persona" });
    expect(readSumsub({ type: "applicantCreated" })).toMatchObject({ news: "applicantCreated", provider: "sumsub" });
    for (const read of [readSumsub, readPersona, readVeriff, readOnfido])
      expect(read({})).toMatchObject({ news: "unknown" });
    const { externalUserId: _, ...unnamed } = sumsubReviewed;
    const result = readSumsub(unnamed);
    expect(KycEvent.safeParse({ ...result, tenantId: "acme" }).error?.issues[0]?.path).toEqual(["userId"]);
  });

  test.each([
    ["camel", (key: string) => key.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())],
    ["snake", (key: string) => key.replaceAll("-", "_")],
  ])("of Persona is read too when its webhook is set to %s case", (_name, spell) => {
    const kebab = personaInquiry("inquiry.approved", { "address-country-code": { type: "string", value: "CH" } });
    const spelt = JSON.parse(JSON.stringify(kebab).replace(/"([a-z-]+)":/g, (_, key: string) => `"${spell(key)}":`));
    expect(spelt).not.toEqual(kebab);
    expect(readPersona(spelt)).toEqual(readPersona(kebab));
  });

  test("of where the user lives is taken, and never the country of a document", () => {
    const living = (value: unknown) => ({ "address-country-code": { type: "string", value } });
    expect(readPersona(personaInquiry("inquiry.approved", living("CH")))).toMatchObject({ jurisdiction: "CH" });
    for (const code of ["GB", "uk", "GBR"])
      expect(readPersona(personaInquiry("inquiry.approved", living(code)))).toMatchObject({ jurisdiction: "GB" });
    expect(readPersona(personaInquiry("inquiry.approved", living(null)))).not.toHaveProperty("jurisdiction");
    // Left out, an earlier check's place would stay on record, and the token could name one.
    for (const unreadable of ["Switzerland", "XX", "SU"])
      expect(readPersona(personaInquiry("inquiry.approved", living(unreadable)))).toMatchObject({ jurisdiction: "ZZ" });
    expect(readOnfido(onfidoRun("approved", { jurisdiction: "US-NY" }))).toMatchObject({ jurisdiction: "US-NY" });
    expect(readOnfido(onfidoRun("approved", { jurisdiction: "USA" }))).toMatchObject({ jurisdiction: "US" });
    expect(readVeriff(veriffDecision("approved"))).not.toHaveProperty("jurisdiction");
  });

  test.each([
    ["2024-02-21 13:23:19.321", AT],
    ["2024-02-21 13:23:19+0000", "2024-02-21T13:23:19+00:00"],
    ["2024-02-21T13:23:19Z", "2024-02-21T13:23:19Z"],
    ["yesterday", undefined],
  ])("Sumsub's time %s is %s", (createdAtMs, expected) => {
    expect(readSumsub({ ...sumsubReviewed, createdAtMs })).toHaveProperty("verifiedAt", expected);
  });
});

type Sign = (body: Buffer, secret: string) => Record<string, string>;
const hmac = (algorithm: string, secret: string, ...parts: (string | Buffer)[]) =>
  parts.reduce((mac, part) => mac.update(part), createHmac(algorithm, secret)).digest("hex");
const at = (ms: number) => String(Math.floor(ms / 1000));
const personaPair = (body: Buffer, secret: string, ms = NOW) =>
  `t=${at(ms)},v1=${hmac("sha256", secret, `${at(ms)}.`, body)}`;

const SCHEMES: [name: "sumsub" | "persona" | "veriff" | "onfido", header: string, sign: Sign][] = [
  ["sumsub", "x-payload-digest", (body, secret) => ({ "x-payload-digest": hmac("sha256", secret, body) })],
  ["persona", "persona-signature", (body, secret) => ({ "persona-signature": personaPair(body, secret) })],
  ["veriff", "x-hmac-signature", (body, secret) => ({ "x-hmac-signature": hmac("sha256", secret, body) })],
  ["onfido", "x-sha2-signature", (body, secret) => ({ "x-sha2-signature": hmac("sha256", secret, body) })],
];

function verify(name: (typeof SCHEMES)[number][0], headers: Record<string, string>, body = BODY, now = NOW): boolean {
  return kycProvider({ provider: name, secrets: SECRETS }).verify(body, (header) => headers[header], now);
}

describe.each(SCHEMES)("the signature of %s", (name, header, sign) => {
  test("is known by its header, and holds under every active secret", () => {
    expect(kycProvider({ provider: name, secrets: SECRETS }).header).toBe(header);
    for (const secret of SECRETS) expect(verify(name, sign(BODY, secret))).toBe(true);
  });

  test("holds for the exact bytes only, and under no other secret", () => {
    expect(verify(name, sign(BODY, SECRETS[0]), Buffer.from(`${BODY} `))).toBe(false);
    expect(verify(name, sign(BODY, "guess"))).toBe(false);
    expect(verify(name, sign(BODY, ""))).toBe(false);
  });

  test("is never an error, whatever stands there", () => {
    for (const value of ["", "z".repeat(64), "0".repeat(63), "é", "t=,v1=", "t=1,v1=0", ",", " ".repeat(9999)])
      expect(verify(name, { [header]: value })).toBe(false);
    expect(verify(name, {})).toBe(false);
  });
});

describe("more of their schemes", () => {
  test("Sumsub names the algorithm, and only those that are strong count", () => {
    const digest = (algorithm: string, named: string) => ({
      "x-payload-digest": hmac(algorithm, SECRETS[1], BODY),
      "x-payload-digest-alg": named,
    });
    expect(verify("sumsub", digest("sha256", "HMAC_SHA256_HEX"))).toBe(true);
    expect(verify("sumsub", digest("sha512", "HMAC_SHA512_HEX"))).toBe(true);
    expect(verify("sumsub", digest("sha512", "HMAC_SHA256_HEX"))).toBe(false);
    expect(verify("sumsub", digest("sha1", "HMAC_SHA1_HEX"))).toBe(false);
    expect(verify("sumsub", digest("sha256", "constructor"))).toBe(false);
  });

  test("Persona signs the time too, five minutes either way, and sends two pairs while a secret is rotated", () => {
    const pair = personaPair(BODY, SECRETS[1]);
    for (const [ms, holds] of [
      [300_000, true],
      [301_000, false],
      [-300_000, true],
      [-301_000, false],
    ] as const)
      expect(verify("persona", { "persona-signature": pair }, BODY, Number(at(NOW)) * 1000 + ms)).toBe(holds);
    const other = personaPair(BODY, "a secret that we do not hold");
    expect(verify("persona", { "persona-signature": `${other} ${pair}` })).toBe(true);
    expect(verify("persona", { "persona-signature": `${other} ${other}` })).toBe(false);
    expect(verify("persona", { "persona-signature": pair.replace(/t=\d+/, `t=${at(NOW + 1000)}`) })).toBe(false);
  });
});
