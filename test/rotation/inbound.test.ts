import { afterAll, beforeAll, expect, test } from "vitest";
import { signAsStripe } from "../../src/providers/stripe/verify.ts";
import { type Ask, deposit, Fleet, post, signedPost, TENANT, type Values } from "./fleet.ts";

const NAMES = ["SHARED", "PAYMENTS", "GENERIC", "VERIFF", "STRIPE"] as const;
type Name = (typeof NAMES)[number];

const secretOf = (name: Name, generation: number) =>
  `${name === "STRIPE" ? "whsec_" : ""}${name.toLowerCase()} of generation ${generation}, of 32 bytes and more`;
const values = (generation: number): Values =>
  Object.fromEntries(NAMES.map((name) => [`ACME_${name}_${generation}`, secretOf(name, generation)]));

/** All lists with these generations of each secret. */
function sections(...generations: number[]) {
  const list = (name: Name) => generations.map((generation) => ({ env: `ACME_${name}_${generation}` }));
  const inbound = {
    secrets: list("SHARED"),
    payments: { secrets: list("PAYMENTS") },
    kyc: { provider: "veriff", secrets: list("VERIFF"), genericSecrets: list("GENERIC") },
    stripe: list("STRIPE"),
  };
  return { webhooks: { inbound }, oracle: { sources: { desk: { push: true } } } };
}

const verifiedAt = "2026-01-02T03:04:05Z";
/** What each provider sends, signed with a generation of its secret. */
const SENDERS: Record<Name, (url: string, count: number, secret: string) => Promise<Response>> = {
  SHARED: (url, count, secret) => {
    const observedAt = new Date(Date.now() - 1000).toISOString();
    return signedPost(url, "/oracle/inbound", { source: "desk", id: `x${count}`, price: "5", observedAt }, secret);
  },
  PAYMENTS: (url, count, secret) => deposit(url, "usr_1", `deposit ${count}`, secret),
  GENERIC: (url, count, secret) => {
    const event = { userId: `generic_${count}`, status: "passed", provider: "p", verifiedAt };
    return signedPost(url, "/kyc/inbound", event, secret);
  },
  VERIFF: (url, count, secret) => {
    const verification = { vendorData: `veriff_${count}`, status: "approved", decisionTime: verifiedAt };
    return signedPost(url, "/kyc/inbound", { verification }, secret, "x-hmac-signature");
  },
  STRIPE: async (url, count, secret) => {
    const event = { id: `evt_${count}`, object: "event", type: "customer.created", data: { object: {} } };
    const text = JSON.stringify(event);
    const header = await signAsStripe(text, secret, Date.now());
    return post(url, `/payments/stripe/${TENANT}`, text, { "stripe-signature": header });
  },
};

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.open({ sections: sections(1), values: values(1) });
});
afterAll(() => fleet?.close());

test("the secrets of incoming webhooks are replaced while providers send", async () => {
  const generation: Record<Name, number> = { SHARED: 1, PAYMENTS: 1, GENERIC: 1, VERIFF: 1, STRIPE: 1 };
  const sendAs =
    (name: Name, as: () => number): Ask =>
    (url, count) =>
      SENDERS[name](url, count, secretOf(name, as()));
  for (const name of NAMES)
    fleet.load(
      name,
      sendAs(name, () => generation[name]),
    );
  await fleet.everyClient();

  await fleet.change({ sections: sections(1, 2), values: values(2) });
  await fleet.roll();
  for (const name of NAMES) {
    // One provider after the other, in its own time.
    generation[name] = 2;
    await fleet.everyClient();
  }
  await fleet.change({ sections: sections(2) });
  await fleet.roll();
  await fleet.quiet();

  for (const name of NAMES)
    expect([name, await fleet.ofEach(sendAs(name, () => 1)), await fleet.ofEach(sendAs(name, () => 2))]).toEqual([
      name,
      [401, 401],
      [200, 200],
    ]);
});
