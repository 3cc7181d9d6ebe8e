import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { undecidedChecks } from "../../src/client/inbox/waiting.ts";
import { localApi } from "../../src/client/local-api.ts";
import { kycProvider } from "../../src/providers/kyc.ts";
import { sumsubRed, sumsubReviewed } from "../providers/fixtures/kyc.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { WEBHOOK_SECRET } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const SECRET = "sumsub's secret of the tests";
const hmac = (body: string, secret: string) => createHmac("sha256", secret).update(body).digest("hex");

const tenant = tenantOfTests({ kycProvider: kycProvider({ provider: "sumsub", secrets: [SECRET] }) });

function post(body: string, headers: Record<string, string>, path = "/kyc/inbound/acme"): Promise<Response> {
  return fetch(tenant.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
}
const sent = (event: object, secret = SECRET, path?: string) => {
  const body = JSON.stringify(event);
  return post(body, { "x-payload-digest": hmac(body, secret), "x-payload-digest-alg": "HMAC_SHA256_HEX" }, path);
};
const stateOf = async (user: string) => {
  const [row] = await tenant.backend.sql`select kyc from trader where id = ${user}`;
  return row?.kyc;
};

describe("the identity provider that the tenant file names", () => {
  test("is heard on the same path, in its own words; a repeat changes nothing", async () => {
    for (const event of [sumsubReviewed, sumsubReviewed, sumsubRed("FINAL")]) {
      const response = await sent(event);
      expect([response.status, await response.json()]).toEqual([200, { received: true }]);
    }
    // The refusal bears the time of the approval, so it is as old, and changes nothing.
    expect(await stateOf("usr_7")).toBe("verified");
    const later = { ...sumsubRed("FINAL"), createdAtMs: "2024-03-01 00:00:00.000" };
    expect((await sent(later)).status).toBe(200);
    expect(await stateOf("usr_7")).toBe("rejected");
    const entries = await tenant.audit("kyc.updated");
    expect(entries.map(({ actor, payload }) => [actor, payload.status])).toEqual([
      ["provider:sumsub", "passed"],
      ["provider:sumsub", "failed"],
    ]);
  });

  test("may send an unknown status: trading stops, and the log, the metric and the operator's list show it", async () => {
    const odd = { ...sumsubReviewed, externalUserId: "usr_odd", reviewResult: { reviewAnswer: "YELLOW" } };
    expect((await sent({ ...sumsubReviewed, externalUserId: "usr_odd" })).status).toBe(200);
    expect((await sent({ ...odd, createdAtMs: "2024-03-02 00:00:00.000" })).status).toBe(200);
    expect(await stateOf("usr_odd")).toBe("review");
    expect((await tenant.audit("kyc.unrecognised")).map(({ payload }) => payload)).toMatchObject([
      { userId: "usr_odd", status: "unknown", provider: "sumsub" },
    ]);
    const api = localApi(tenant.services.handlers, { actor: "admin:ops" });
    expect(await undecidedChecks("acme", api, Date.now())).toMatchObject([{ kind: "kyc", id: "usr_odd" }]);
    expect(
      (await sent({ ...sumsubReviewed, externalUserId: "usr_odd", createdAtMs: "2024-03-03 00:00:00.000" })).status,
    ).toBe(200);
    expect(await stateOf("usr_odd")).toBe("verified");
    expect(await undecidedChecks("acme", api, Date.now())).toEqual([]);
  });

  test("may tell what decides nothing about anybody: that is kept once, and the journal does not hear of it", async () => {
    const [before] = await tenant.backend.sql`select seq, hash from head`;
    const news = { type: "applicantCreated", applicantId: "x" };
    for (const event of [news, news, { ...news, type: "x".repeat(65), externalUserId: "usr_9" }]) {
      const response = await sent(event);
      expect([response.status, await response.json()]).toEqual([200, { received: true }]);
    }
    const rows = await tenant.backend.sql`
      select event, user_id, outcome, body
        from inbound_delivery
       where provider = 'kyc:sumsub' and outcome = 'no effect' and event <> 'passed' and event <> 'failed'
       order by received_at, event`;
    expect(rows).toEqual([
      { event: "applicantCreated", user_id: null, outcome: "no effect", body: null },
      { event: "unknown", user_id: "usr_9", outcome: "no effect", body: null },
    ]);
    expect((await tenant.backend.sql`select seq, hash from head`)[0]).toEqual(before);
  });

  test("is never believed in another scheme's body: a generic one with the word news is judged as it stands", async () => {
    const body = JSON.stringify({ news: "x", provider: "own" });
    const response = await post(body, { "x-signature": hmac(body, WEBHOOK_SECRET) });
    expect(response.status).toBe(400);
  });

  test("does not replace the generic webhook, nor its secret", async () => {
    const body = JSON.stringify({
      userId: "usr_8",
      status: "passed",
      provider: "own",
      verifiedAt: "2024-02-01T00:00:00Z",
    });
    expect((await post(body, { "x-signature": hmac(body, WEBHOOK_SECRET) })).status).toBe(200);
    expect(await stateOf("usr_8")).toBe("verified");
    const refused = await post(body, { "x-signature": hmac(body, SECRET) });
    await expectRefusal(refused, 401, "SIGNATURE_INVALID", "Invalid signature");
  });

  test("is refused with the one public message when its signature, its tenant or its endpoint is another", async () => {
    const invalid = (response: Response) => expectRefusal(response, 401, "SIGNATURE_INVALID", "Invalid signature");
    await invalid(await sent(sumsubReviewed, WEBHOOK_SECRET));
    await invalid(await sent(sumsubReviewed, SECRET, "/kyc/inbound/other"));
    await invalid(await sent(sumsubReviewed, SECRET, "/payments/inbound/acme"));
    await invalid(await post("{}", { "persona-signature": `t=1,v1=${hmac("1.{}", SECRET)}` }));
  });

  test("is refused with a result of the future, in its own words and in the generic ones, and nothing is kept", async () => {
    const kept = async () => (await tenant.backend.sql`select count(*)::int as rows from inbound_delivery`)[0];
    const before = [await kept(), await tenant.audit("kyc.updated")];
    const ahead = new Date(Date.now() + 6 * 60_000).toISOString();
    const own = {
      ...sumsubReviewed,
      externalUserId: "usr_ahead",
      createdAtMs: ahead.replace("T", " ").replace("Z", ""),
    };
    await expectRefusal(await sent(own), 400, "BAD_REQUEST", "verifiedAt: must not be in the future");
    const body = JSON.stringify({ userId: "usr_ahead", status: "passed", provider: "idv", verifiedAt: ahead });
    const generic = await post(body, { "x-signature": hmac(body, WEBHOOK_SECRET) });
    await expectRefusal(generic, 400, "BAD_REQUEST", "verifiedAt: must not be in the future");
    expect([await kept(), await tenant.audit("kyc.updated")]).toEqual(before);
    expect(await stateOf("usr_ahead")).toBeUndefined();
  });

  test("learns which field is missing when its decision names no user", async () => {
    const { externalUserId: _, ...unnamed } = sumsubReviewed;
    const response = await sent(unnamed);
    expect([response.status, await response.json()]).toEqual([400, { error: expect.stringContaining("userId") }]);
  });
});
