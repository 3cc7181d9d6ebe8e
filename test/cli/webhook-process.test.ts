import { createHmac, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signInbound } from "../../src/providers/endpoint.ts";
import { signBody } from "../../src/providers/signature.ts";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { withRateLimit, withServer } from "../support/tenant-text.ts";
import { shell } from "./support/pmctl.ts";

const PAYMENTS_SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const BODY = '{"userId":"usr_1",  "status":"passed"}\n';

let operator: Operator;
let server: ServerProcess;
let secret: string;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  // Payments have a secret of their own, and are signed with their time.
  await operator.edit("acme", (text) =>
    text.replace("  inbound:", "  inbound:\n    payments: { secrets: [{ file: payments.secret }], scheme: v2 }"),
  );
  await writeFile(join(operator.directory, "tenants/acme/payments.secret"), PAYMENTS_SECRET, { mode: 0o600 });
  await operator.edit("acme", (text) => withServer(withRateLimit(text, 1000)));
  await operator.edit("acme", (text) => `${text}sandbox: true\n`);
  expect(await operator.run("apply", "acme")).toMatchObject({ exitCode: 0 });
  server = await operator.serve("acme");
  secret = (await operator.secrets()).ACME_WEBHOOK_SECRET ?? "";
  await writeFile(join(operator.directory, "body.json"), BODY);
});
afterAll(async () => {
  await server?.kill("SIGTERM");
  await operator?.close();
});

/** The address is named: a busy machine may answer too late to be found by itself. */
const run = (...args: string[]) => operator.run(...args, "--url", server.url);
const user = async () => JSON.parse((await run("user", "show", "usr_7", "-o", "json")).stdout);

describe("pmctl webhook", () => {
  test("send stands in for the providers: identity, deposits and Stripe", async () => {
    const passed = await run("webhook", "send", "kyc.passed", "--set", "userId=usr_7", "-o", "json");
    expect(JSON.parse(passed.stdout)).toMatchObject({
      event: "kyc.passed",
      url: `${server.url}/kyc/inbound/acme`,
      status: 200,
      body: { userId: "usr_7", status: "passed" },
    });
    const amount = ["--set", "userId=usr_7", "--set", "amountUsd=12.5"];
    expect((await run("webhook", "send", "deposit.completed", ...amount)).exitCode).toBe(0);
    const stripe = ["webhook", "send", "stripe:payment_intent.succeeded", "--set", "metadata.userId=usr_7"];
    expect((await run(...stripe, "--set", "amount_received=700")).exitCode).toBe(0);
    expect(await user()).toMatchObject({ state: "verified", balanceUsd: 19.5 });
    await run("webhook", "send", "kyc.failed", "--set", "userId=usr_7");
    expect(await user()).toMatchObject({ state: "rejected" });
  });

  test("send ends with the server's refusal", async () => {
    const { exitCode, stderr } = await run("webhook", "send", "deposit.completed", "--set", "amountUsd=-1");
    expect([exitCode, stderr]).toEqual([6, expect.stringContaining("amountUsd")]);
    expect((await run("webhook", "send", "deposit.done")).exitCode).toBe(6);
  });

  describe("outside of a sandbox", () => {
    beforeAll(() => operator.edit("acme", (text) => text.replace("sandbox: true", "sandbox: false")));
    afterAll(() => operator.edit("acme", (text) => text.replace("sandbox: false", "sandbox: true")));

    test.each(["kyc.passed", "kyc.failed", "deposit.completed", "stripe:charge.refunded", "oracle-price"])(
      "%s is sent only by who stands in for the provider, with a reason and a yes",
      async (event) => {
        const before = await user();
        const send = ["webhook", "send", event];
        const named = event.startsWith("kyc.") ? ["--set", "provider=idv"] : [];
        for (const [words, why] of [
          [[], "--as-provider and --reason"],
          [["--yes", "--reason", "ticket 7"], "--as-provider and --reason"],
          [["--as-provider", "--yes", ...named], "add --reason"],
          [["--as-provider", "--yes", "--reason", " ", ...named], "add --reason"],
          [["--as-provider", "--reason", "ticket 7", ...named], "add --yes"],
          ...(named.length > 0 ? [[["--as-provider", "--yes", "--reason", "ticket 7"], "--set provider=NAME"]] : []),
        ] as [string[], string][]) {
          const { exitCode, stderr } = await run(...send, ...words);
          expect([exitCode, stderr]).toEqual([6, expect.stringContaining(why)]);
        }
        expect(await user()).toEqual(before);
      },
    );

    test("what an operator says in a provider's place is on record as the operator's, with provider and reason", async () => {
      const standIn = ["--as-provider", "--yes", "--reason", "their letter of 3 May"];
      const set = (...assignments: string[]) => assignments.flatMap((each) => ["--set", each]);
      const sent = [
        ["kyc.passed", ...set("userId=usr_8", "provider=idv")],
        ["deposit.completed", ...set("userId=usr_8", "amountUsd=3")],
        ["stripe:payment_intent.succeeded", ...set("metadata.userId=usr_8", "amount_received=500")],
      ];
      for (const words of sent) expect((await run("webhook", "send", ...words, ...standIn)).exitCode).toBe(0);
      const { stdout } = await run("audit", "list", "--user", "usr_8", "-o", "json");
      const { entries } = JSON.parse(stdout) as {
        entries: { actor: string; payload: { reason: string; provider: string } }[];
      };
      const known = entries.map(({ actor, payload }) => [actor, payload.reason, payload.provider]);
      const operatorsOwn = (provider: string) => ["admin:ops", "their letter of 3 May", provider];
      expect(known).toEqual(["stripe", "payments", "idv"].map(operatorsOwn));
    });
  });

  test("sign and verify agree with openssl's HMAC, over the exact bytes", async () => {
    const expected = createHmac("sha256", secret).update(BODY).digest("hex");
    expect((await operator.run("webhook", "sign", "--body", "body.json")).stdout).toBe(expected);
    const verify = (signature: string) =>
      operator.run("webhook", "verify", "--body", "body.json", "--signature", signature);
    expect((await verify(expected)).exitCode).toBe(0);
    expect((await verify(`sha256=${expected.toUpperCase()}`)).exitCode).toBe(0);
    const wrong = await verify(expected.replace(/^./, (digit) => (digit === "0" ? "1" : "0")));
    expect([wrong.exitCode, wrong.stderr]).toEqual([4, expect.stringContaining("Invalid signature")]);
    expect((await operator.run("webhook", "sign", "--body", "none.json")).exitCode).toBe(6);
  });

  test("verify checks either scheme as an endpoint does, and names the scheme", async () => {
    const verify = (...args: string[]) => operator.run("webhook", "verify", "--body", "body.json", ...args);
    const signed = async (...args: string[]) =>
      JSON.parse((await operator.run("webhook", "sign", "--body", "body.json", "-o", "json", ...args)).stdout);
    const { signature } = await signed();
    const old = await verify("--signature", signature, "-o", "json");
    expect(JSON.parse(old.stdout)).toEqual({ valid: true, scheme: "v1" });

    const { headers } = await signed("--endpoint", "payments");
    const given = ["--signature", `v1a,other ${headers["webhook-signature"]}`, "--id", headers["webhook-id"]];
    const timely = ["--timestamp", headers["webhook-timestamp"]];
    for (const endpoint of [[], ["--endpoint", "payments"]])
      expect((await verify(...given, ...timely, ...endpoint)).stdout).toBe("valid (v2, Standard Webhooks)");
  });

  test("verify says which part of a signature failed, and shows no secret", async () => {
    const verify = (...args: string[]) => operator.run("webhook", "verify", "--body", "body.json", ...args);
    const { "webhook-signature": mac, ...stated } = signInbound(
      "msg_1",
      Buffer.from(BODY),
      1798761600,
      PAYMENTS_SECRET,
    );
    const id = ["--id", stated["webhook-id"]];
    const time = ["--timestamp", stated["webhook-timestamp"]];
    const hex = signBody(Buffer.from(BODY), PAYMENTS_SECRET);
    for (const [args, exit, says] of [
      [["--signature", mac, ...id, ...time], 4, "(v2, Standard Webhooks): the time is more than five minutes off"],
      [["--signature", mac, "--id", "msg_2", ...time], 4, "the signature does not match these bytes"],
      [["--signature", mac, ...id, ...time, "--endpoint", "kyc"], 4, "the signature does not match these bytes"],
      [["--signature", mac, "--id", "a.b", ...time], 4, "webhook-id is missing or not valid"],
      [["--signature", mac, ...id, "--timestamp", "today"], 4, "the time cannot be read"],
      [["--signature", mac, ...id], 6, "--timestamp"],
      [["--signature", mac, ...time], 6, "--id"],
      [["--signature", hex, ...id], 6, "--id"],
      [
        ["--signature", hex, "--timestamp", "1798761600"],
        4,
        "(v1, X-Signature): the time is more than five minutes off",
      ],
      [["--signature", hex, "--endpoint", "payments"], 4, "the endpoint does not accept X-Signature"],
      [["--signature", hex, "--endpoint", "kyc"], 4, "the signature does not match these bytes"],
    ] as [string[], number, string][]) {
      const { exitCode, stdout, stderr } = await verify(...args);
      expect([exitCode, stdout, stderr]).toEqual([exit, "", expect.stringContaining(says)]);
      expect(stderr).not.toMatch(/whsec_[A-Za-z0-9]/);
    }
  });

  test("sign --scheme v2 gives the headers that the scheme's own library verifies, under the endpoint's secret", async () => {
    const sign = (...args: string[]) =>
      operator.run("webhook", "sign", "--body", "body.json", "--scheme", "v2", "-o", "json", ...args);
    const { scheme, headers } = JSON.parse((await sign("--endpoint", "payments")).stdout);
    expect([scheme, Object.keys(headers)]).toEqual(["v2", ["webhook-id", "webhook-timestamp", "webhook-signature"]]);
    expect(() => new Webhook(PAYMENTS_SECRET).verify(BODY, headers)).not.toThrow();
    const fixed = ["--id", "msg_1", "--timestamp", "1798761600"];
    const { headers: stated } = JSON.parse((await sign("--endpoint", "kyc", ...fixed)).stdout);
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const expected = createHmac("sha256", key).update(`msg_1.1798761600.${BODY}`).digest("base64");
    expect(stated).toEqual({
      "webhook-id": "msg_1",
      "webhook-timestamp": "1798761600",
      "webhook-signature": `v1,${expected}`,
    });
    for (const wrong of [[], ["--endpoint", "kyc", "--id", "a.b"], ["--endpoint", "stripe"]])
      expect((await sign(...wrong)).exitCode).toBe(6);
  });

  test("sign does as the endpoint takes it, and v2 is JSON in a pipe without being asked for", async () => {
    const sign = (...args: string[]) => operator.run("webhook", "sign", "--body", "body.json", ...args);
    const { scheme, headers } = JSON.parse((await sign("--endpoint", "payments", "--id", "msg_1")).stdout);
    expect([scheme, headers["webhook-id"]]).toEqual(["v2", "msg_1"]);
    expect(() => new Webhook(PAYMENTS_SECRET).verify(BODY, headers)).not.toThrow();
    expect((await sign("--endpoint", "kyc")).stdout).toBe(createHmac("sha256", secret).update(BODY).digest("hex"));
    expect((await sign("--endpoint", "payments", "--scheme", "v1")).stdout).toMatch(/^[0-9a-f]{64}$/);
  });

  test("send signs as the endpoint takes it, or as told, and an endpoint that takes v2 only refuses v1", async () => {
    expect((await run("webhook", "send", "kyc.passed", "--scheme", "v2")).exitCode).toBe(0);
    expect((await run("webhook", "send", "deposit.completed", "--scheme", "v2")).exitCode).toBe(0);
    const old = await run("webhook", "send", "deposit.completed", "--scheme", "v1");
    expect([old.exitCode, old.stderr]).toEqual([4, expect.stringContaining("Invalid signature")]);
    expect((await run("webhook", "send", "stripe:charge.refunded", "--scheme", "v2")).exitCode).toBe(6);
  });

  test("sign reads a pipe", async () => {
    const { stdout } = await shell("printf '%s' abc | pmctl webhook sign --body - -o json", {
      cwd: operator.directory,
    });
    expect(JSON.parse(stdout)).toEqual({ signature: createHmac("sha256", secret).update("abc").digest("hex") });
  });

  test("listen says its secret, the same each time, and no other secret of the tenant", async () => {
    const [first, second] = await Promise.all([1, 2].map(() => operator.run("webhook", "listen", "--print-secret")));
    expect(first?.stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(second?.stdout).toBe(first?.stdout);
    expect((await operator.run("webhook", "listen")).exitCode).toBe(6);
  });
});
