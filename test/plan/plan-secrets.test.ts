import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { canonicalJson, type Json } from "../../src/domain/audit/audit-link.ts";
import { makePlan, neverApplied } from "../../src/plan/plan.ts";
import { documentOf } from "../../src/plan/plan-document.ts";
import type { Desired } from "../../src/plan/plan-types.ts";
import { directoryWith, parse, tenantText } from "../config/support.ts";

const TOKEN = "{ env: ACME_FEED_TOKEN }";
const GRANTS = `version: 1
secrets: { destinations: { "env ACME_FEED_TOKEN": [prices.acme.example, "other.example:8443", hermes.pyth.network],
  "env ACME_PASSWORD": ["db.example:5432?sslmode=require"] } }
`;

function desired(sections: Record<string, string>): Desired {
  const directory = directoryWith({ "pmctl.yaml": GRANTS });
  const config = parse(tenantText(sections), join(directory, "tenants/acme/tenant.yaml"));
  return { document: documentOf(config, [], []), keys: undefined, fileSha256: "" };
}

/** What a plan says of secrets once a document was applied. */
function items(sections: Record<string, string>, applied: Record<string, string> | Json) {
  const document = isSections(applied) ? desired(applied).document : applied;
  const live = { ...neverApplied("acme", 0), version: 1, document: JSON.parse(canonicalJson(document)) };
  return makePlan(desired(sections), live).items.filter(({ field }) => field.startsWith("secrets."));
}

const isSections = (applied: Record<string, string> | Json): applied is Record<string, string> =>
  !Object.hasOwn(applied as object, "tenant");

const house = (url: string, reference = TOKEN) => ({
  oracle: `{ sources: { house: { url: "${url}", headers: { authorization: ${reference} }, price: { pointer: /p }, time: { pointer: /t, unit: s } } } }`,
  network: "{ allowPorts: [8443] }",
});

describe("the plan's view of secrets", () => {
  test("shows a new reference with the host and port that it is sent to, and as loosening", () => {
    expect(items(house("https://prices.acme.example/{id}"), {})).toEqual([
      {
        field: "secrets.env ACME_FEED_TOKEN",
        kind: "change",
        base: null,
        desired: "oracle.sources.house.headers.authorization -> prices.acme.example:443",
        live: null,
        direction: "loosens",
      },
    ]);
  });

  test("shows an old one that would be sent elsewhere, or that moves to another place of the file", () => {
    const before = house("https://prices.acme.example/{id}");
    expect(items(before, before)).toEqual([]);
    expect(items(house("https://prices.acme.example/other/{id}"), before)).toEqual([]);
    expect(items(house("https://other.example:8443/{id}"), before)).toMatchObject([
      {
        field: "secrets.env ACME_FEED_TOKEN",
        desired: "oracle.sources.house.headers.authorization -> other.example:8443",
      },
    ]);
    const preset = { oracle: `{ sources: { pyth: { headers: { authorization: ${TOKEN} } } } }` };
    expect(items(preset, before)).toMatchObject([
      { desired: "oracle.sources.pyth.headers.authorization -> hermes.pyth.network:443" },
    ]);
    expect(items({ audit: "{ key: { env: ACME_OTHER } }" }, {})).toMatchObject([
      { field: "secrets.env ACME_OTHER", desired: "audit.key", direction: "loosens" },
    ]);
  });

  test("shows a password's new host, and a new sslmode, as loosening", () => {
    const parts = (host: string, sslmode: string) => ({
      database: `{ url: { hosts: [${host}], name: acme, password: { env: ACME_PASSWORD }, parameters: { sslmode: ${sslmode} } } }`,
    });
    const before = parts("db.example", "verify-full");
    expect(items(before, before)).toEqual([]);
    expect(items(parts("db.example", "require"), before)).toMatchObject([
      { desired: "database.url.password -> db.example:5432?sslmode=require", direction: "loosens" },
    ]);
    expect(items(before, parts("{ env: ACME_HOST }", "verify-full"))).toMatchObject([
      { desired: "database.url.password -> db.example:5432", direction: "loosens" },
    ]);
  });

  test("names entries of lists, so that another order is nothing new", () => {
    const keys = (...names: string[]) => ({
      keys: `{ admin: [${names.map((name) => `{ name: ${name}, secret: { env: ACME_${name.toUpperCase()} } }`).join()}] }`,
      webhooks: `{ inbound: { secrets: [${names.map((name) => `{ env: ACME_IN_${name.toUpperCase()} }`).join()}] } }`,
    });
    expect(items(keys("b", "a"), keys("a", "b"))).toEqual([]);
    expect(items(keys("b", "c", "a"), keys("a", "b")).map(({ field, desired: place }) => `${field} ${place}`)).toEqual([
      "secrets.env ACME_C keys.admin.c.secret",
      "secrets.env ACME_IN_C webhooks.inbound.secrets",
    ]);
  });

  test("shows a secret that becomes a previous one, which loosens nothing; its successor and any other move do", () => {
    const outbound = (name: string, secret: string, previous: string) =>
      `{ name: ${name}, url: "https://${name}.example/", events: [order.filled], secret: { env: ${secret} }, previousSecrets: [${previous}] }`;
    const found = (after: Record<string, string>, before: Record<string, string>) =>
      items(after, before).map(({ field, desired: place, direction }) => [field, place, direction]);
    expect(
      found(
        { audit: "{ key: { env: ACME_AUDIT_KEY_2 }, previous: [{ env: ACME_AUDIT_KEY }] }" },
        { audit: "{ key: { env: ACME_AUDIT_KEY } }" },
      ),
    ).toEqual([
      ["secrets.env ACME_AUDIT_KEY_2", "audit.key", "loosens"],
      ["secrets.env ACME_AUDIT_KEY", "audit.previous", "neutral"],
    ]);
    const before = { webhooks: `{ outbound: [${outbound("a", "ACME_A", "")}, ${outbound("b", "ACME_B", "")}] }` };
    const after = `{ outbound: [${outbound("a", "ACME_C", "{ env: ACME_A }")}, ${outbound("b", "ACME_B", "{ env: ACME_A }")}] }`;
    expect(found({ webhooks: after }, before)).toEqual([
      ["secrets.env ACME_A", "webhooks.outbound.a.previousSecrets", "neutral"],
      ["secrets.env ACME_C", "webhooks.outbound.a.secret", "loosens"],
      ["secrets.env ACME_A", "webhooks.outbound.b.previousSecrets", "loosens"],
    ]);
    // What all servers know before it seals.
    expect(
      found(
        { audit: "{ key: { env: ACME_OLD } }" },
        { audit: "{ key: { env: ACME_AUDIT_KEY }, previous: [{ env: ACME_OLD }] }" },
      ),
    ).toEqual([["secrets.env ACME_OLD", "audit.key", "neutral"]]);
  });

  test("takes a header or parameter of that name for none of these: its host counts", () => {
    const source = (of: string, host: string) => ({
      oracle: `{ sources: { house: { url: "https://${host}/", ${of}: ${TOKEN} }, price: { pointer: /p }, time: { pointer: /t, unit: s } } } }`,
      network: "{ allowPorts: [8443] }",
    });
    const before = source("query: { key", "prices.acme.example");
    for (const after of [
      source("query: { key", "other.example:8443"),
      source("query: { previous", "prices.acme.example"),
    ])
      expect(items(after, before)).toMatchObject([{ direction: "loosens" }]);
  });

  test("shows a program without its arguments, and one with other arguments as new", () => {
    const exec = (argument: string) => ({ audit: `{ key: { exec: [vault, read, ${argument}] } }` });
    const found = items(exec("canary"), exec("other"));
    expect(found).toMatchObject([{ field: "secrets.exec vault", desired: "audit.key", direction: "loosens" }]);
    expect(JSON.stringify(found)).not.toContain("canary");
    expect(items({ audit: "{ key: { sops: s.yaml, path: a.b } }" }, {})).toMatchObject([
      { field: "secrets.sops s.yaml a.b" },
    ]);
    expect(items({ audit: "{ key: { file: key } }" }, {})).toMatchObject([{ field: "secrets.file key" }]);
  });

  test("loosens nothing for a tenant that was never applied", () => {
    const { items: all } = makePlan(desired({}), neverApplied("acme", 0));
    const shown = all.filter(({ field }) => field.startsWith("secrets."));
    expect(shown.map(({ field, direction }) => `${field} ${direction}`)).toEqual([
      "secrets.env ACME_AUDIT_KEY neutral",
      "secrets.env ACME_JWT_SECRET neutral",
      "secrets.env ACME_ADMIN_KEY neutral",
      "secrets.env ACME_PUBLIC_KEY neutral",
    ]);
  });

  test("understands documents without a section, and takes people's data for none", () => {
    const { document } = desired({});
    const { audit: _, ...partial } = document as unknown as Record<string, Json>;
    expect(items({}, partial).map(({ field }) => field)).toEqual(["secrets.env ACME_AUDIT_KEY"]);
    const declared = { rain: { closeAt: 1, meta: { env: "ACME_X", note: { file: "x" } } } };
    const withMarket = { ...desired({}), document: { ...document, declared: declared as never } };
    const live = { ...neverApplied("acme", 0), version: 1, document: JSON.parse(canonicalJson(document)) };
    expect(makePlan(withMarket, live).items.filter(({ field }) => field.startsWith("secrets."))).toEqual([]);
  });
});
