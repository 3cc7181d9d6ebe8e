import { SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deposit, Fleet, openMarket, trade } from "./fleet.ts";

const NEW = "the JWT secret that follows, of 32 bytes and more";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.open();
});
afterAll(() => fleet?.close());

/** A token that no server remembers. */
function tokenOf(secret: string, count: number): Promise<string> {
  return new SignJWT({ jti: String(count) })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject("usr_1")
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(new TextEncoder().encode(secret));
}

test("the secret of user tokens is replaced while users trade", async () => {
  const { ACME_JWT_SECRET: old = "", ACME_PUBLIC_KEY: key = "", ACME_WEBHOOK_SECRET: hook = "" } = fleet.values;
  expect(await fleet.ofEach((url) => deposit(url, "usr_1", "opening", hook))).toEqual([200, 200]);
  const market = await openMarket(fleet);
  let issuer = old;
  const early = await tokenOf(old, -1);
  fleet.load("trades", async (url, count) => trade(url, market, await tokenOf(issuer, count), key));
  fleet.load("an early token", (url) => trade(url, market, early, key));

  const jwt = { algorithm: "HS256", secret: { env: "ACME_JWT_SECRET_2" } };
  const previous = [{ env: "ACME_JWT_SECRET" }];
  await fleet.change({ sections: { auth: { jwt: { ...jwt, previous } } }, values: { ACME_JWT_SECRET_2: NEW } });
  await fleet.roll();
  issuer = NEW;
  await fleet.everyClient();
  await fleet.quiet();

  // Tokens of the old secret have ended.
  fleet.load("trades", async (url, count) => trade(url, market, await tokenOf(issuer, count), key));
  await fleet.change({ sections: { auth: { jwt } } });
  await fleet.roll();
  await fleet.quiet();
  expect(await fleet.ofEach((url) => trade(url, market, early, key))).toEqual([401, 401]);
});
