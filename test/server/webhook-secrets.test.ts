import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import { kycProvider } from "../../src/providers/kyc.ts";
import { signBody } from "../../src/providers/signature.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { expectRefusal } from "./support/requests.ts";

const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`;
const SECRETS = { kyc: secretOf(1), payments: secretOf(2), oracle: secretOf(3) } as const;
const OLD_ORACLE = "an oracle secret that is on its way out";
const PROVIDER_SECRET = "the identity provider's own, 32 bytes or more";
type Endpoint = keyof typeof SECRETS;

const EVENTS: Record<Endpoint, object> = {
  kyc: { userId: "usr_1", status: "passed", provider: "idv", verifiedAt: "2026-06-01T12:00:00Z" },
  payments: { event: "deposit.completed", userId: "usr_1", amountUsd: 250, txRef: "tx_0001" },
  oracle: { source: "desk", id: "steel", price: "815.5", observedAt: "2026-06-01T12:00:00Z" },
};
const ENDPOINTS = Object.keys(SECRETS) as Endpoint[];

const reached: string[] = [];
const handler = (id: string) => async () => {
  reached.push(id);
  return { received: true };
};
const handlers = Object.fromEntries(
  ["receiveKyc", "receivePayment", "receivePrice"].map((id) => [id, handler(id)]),
) as unknown as Handlers;
const { server } = serverOfTests(handlers, {
  webhookSecrets: {
    kyc: { secrets: [SECRETS.kyc], scheme: "any" },
    payments: { secrets: [SECRETS.payments], scheme: "v2" },
    oracle: { secrets: [OLD_ORACLE, SECRETS.oracle], scheme: "any" },
  },
  kycProvider: kycProvider({ provider: "veriff", secrets: [PROVIDER_SECRET] }),
});
beforeEach(() => {
  reached.length = 0;
});

function send(endpoint: Endpoint, body: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${server.url}/${endpoint}/inbound/acme`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
}
const v1 = (body: string, secret: string) => ({ "x-signature": signBody(Buffer.from(body), secret) });
function v2(body: string, secret: string): Record<string, string> {
  const now = new Date();
  return {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("msg_1", now, body),
  };
}
const refused = (response: Response) => expectRefusal(response, 401, "SIGNATURE_INVALID", "Invalid signature");

describe("an endpoint with secrets of its own", () => {
  test("takes what they sign, and what another endpoint's secret signs is a bad signature, in either scheme", async () => {
    for (const endpoint of ENDPOINTS)
      for (const signer of ENDPOINTS) {
        const body = JSON.stringify(EVENTS[endpoint]);
        const old = await send(endpoint, body, v1(body, SECRETS[signer]));
        const signed = await send(endpoint, body, v2(body, SECRETS[signer]));
        if (endpoint !== signer) {
          await refused(old);
          await refused(signed);
          continue;
        }
        expect([endpoint, old.status]).toEqual([endpoint, endpoint === "payments" ? 401 : 200]);
        expect([endpoint, signed.status]).toEqual([endpoint, 200]);
      }
    expect(reached.toSorted()).toEqual(["receiveKyc", "receiveKyc", "receivePayment", "receivePrice", "receivePrice"]);
  });

  test("takes each of several while one is rotated", async () => {
    const body = JSON.stringify(EVENTS.oracle);
    expect((await send("oracle", body, v1(body, OLD_ORACLE))).status).toBe(200);
    expect((await send("oracle", body, v1(body, SECRETS.oracle))).status).toBe(200);
  });

  test("refuses the older scheme where its own is v2, with the same words as any bad signature", async () => {
    const body = JSON.stringify(EVENTS.payments);
    await refused(await send("payments", body, v1(body, SECRETS.payments)));
    expect(reached).toEqual([]);
  });

  test("does not take a body that was signed for another message or time", async () => {
    const body = JSON.stringify(EVENTS.payments);
    const headers = v2(body, SECRETS.payments);
    await refused(await send("payments", body, { ...headers, "webhook-id": "msg_2" }));
    await refused(await send("payments", `${body} `, headers));
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    await refused(await send("payments", body, { ...headers, "webhook-timestamp": later }));
    expect(reached).toEqual([]);
  });

  test("takes the identity provider's own scheme beside the generic ones, each under its own secret", async () => {
    const own = JSON.stringify({
      verification: { status: "approved", vendorData: "usr_1", decisionTime: "2026-06-01T12:00:00Z" },
    });
    const hmac = (secret: string) => ({ "x-hmac-signature": signBody(Buffer.from(own), secret) });
    expect((await send("kyc", own, hmac(PROVIDER_SECRET))).status).toBe(200);
    await refused(await send("kyc", own, hmac(SECRETS.kyc)));
    const body = JSON.stringify(EVENTS.kyc);
    await refused(await send("kyc", body, v2(body, `whsec_${Buffer.from(PROVIDER_SECRET).toString("base64")}`)));
    // The provider's header chooses its scheme: no generic signature beside it stands in for a wrong one.
    await refused(await send("kyc", body, { ...v2(body, SECRETS.kyc), "x-hmac-signature": "0".repeat(64) }));
  });
});

test("the document names both schemes at the three endpoints, and what the newer one signs", async () => {
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, { post: { security: object[]; parameters: { in: string; name: string }[] } }>;
    components: { securitySchemes: Record<string, object> };
  };
  for (const id of ["receiveKyc", "receivePayment", "receivePrice"] as const) {
    const described = document.paths[operations[id].path.replace(":tenantId", "{tenantId}")]?.post;
    expect(described?.security).toEqual([{ signature: [] }, { messageSignature: [] }]);
    const names = described?.parameters.filter((each) => each.in === "header").map(({ name }) => name);
    expect(names).toEqual(["X-Timestamp", "webhook-id", "webhook-timestamp"]);
  }
  expect(document.components.securitySchemes.messageSignature).toMatchObject({ name: "webhook-signature" });
});
