import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { refusalSentence } from "../../src/cli/why/sentences.ts";
import type { Fault } from "../../src/domain/fault.ts";
import { OutgoingHttp } from "../../src/outgoing/guarded-fetch.ts";
import { KeySet, keySetLoader } from "../../src/server/access/key-set.ts";
import { UserTokens } from "../../src/server/access/user-tokens.ts";
import { RefusalLog } from "../../src/services/security/refusal-log.ts";
import { JWT_SECRET, openBackend, PUBLIC_KEY, serve, userToken } from "./support/harness.ts";

type Algorithm = "ES256" | "EdDSA" | "RS256";

async function newKey(kid: string, algorithm: Algorithm = "ES256") {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: "sig" };
  const token = async (header: object = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const payload = { sub: "usr_1", iat: now, exp: now + 600 };
    const jwt = new SignJWT(payload).setProtectedHeader({ alg: algorithm, kid, ...header });
    return `Bearer ${await jwt.sign(privateKey)}`;
  };
  return { jwk, token };
}

/** An issuer that publishes what the test says, a clock that the test moves, and a server that verifies the tokens. */
function issuer(algorithm: Algorithm = "ES256") {
  const state = { keys: [] as JWK[], loads: 0, fails: false, now: 0, answered: Promise.resolve() };
  const load = async () => {
    state.loads += 1;
    await state.answered;
    if (state.fails) throw new Error("away");
    return JSON.stringify({ keys: state.keys });
  };
  const jwks = { url: "https://issuer.example/jwks.json" };
  const server = () => {
    const tokens = new UserTokens({ algorithm, jwks }, new KeySet(load, { now: () => state.now }));
    return async (authorization: string) => tokens.verify(authorization);
  };
  return { state, server, verify: server() };
}
const refused = { code: "USER_REQUIRED" };

describe.each<Algorithm>(["ES256", "EdDSA", "RS256"])("a key set of %s", (algorithm) => {
  test("verifies its tokens, and no others", async () => {
    const { state, verify } = issuer(algorithm);
    const [ours, other] = [await newKey("k1", algorithm), await newKey("k1", algorithm)];
    state.keys = [ours.jwk];
    expect(await verify(await ours.token())).toEqual({ id: "usr_1" });
    const faultOf = async (token: string) => verify(token).catch(({ detail }: Fault) => detail.fault);
    expect(await faultOf(await other.token())).toBe("signature");
    expect(await faultOf(`Bearer ${await userToken({}, JWT_SECRET)}`)).toBe("algorithm");
    expect(await faultOf(await ours.token({ kid: "made_up" }))).toBe("key-unknown");
    state.keys = [ours.jwk, (await newKey("k2", algorithm)).jwk];
    state.now += 40_000;
    expect(await faultOf(await ours.token({ kid: undefined }))).toBe("key-unnamed");
    const foreign = await newKey("k1", algorithm === "RS256" ? "ES256" : "RS256");
    state.keys = [foreign.jwk];
    await expect(verify(await foreign.token())).rejects.toMatchObject(refused);
  });
});

describe("a rotated key", () => {
  test("is seen within 40 s, and the one before is refused then, remembered tokens too", async () => {
    const { state, verify } = issuer();
    const [before, after] = [await newKey("k1"), await newKey("k2")];
    state.keys = [before.jwk];
    const known = await before.token();
    await verify(known);
    state.keys = [after.jwk];
    await expect(verify(await after.token())).rejects.toMatchObject(refused);
    expect(await verify(known)).toEqual({ id: "usr_1" });
    state.now += 40_000;
    await expect(verify(known)).rejects.toMatchObject(refused);
    expect(await verify(await after.token())).toEqual({ id: "usr_1" });
  });

  test("costs two loads a minute at the most, whatever key ids arrive", async () => {
    const { state, verify } = issuer();
    const key = await newKey("k1");
    state.keys = [key.jwk];
    const times: number[] = [];
    for (let second = 0; second < 180; second++) {
      state.now = second * 1000;
      const before = state.loads;
      const forged = Array.from({ length: 6 }, (_, n) => key.token({ kid: `made_up_${second}_${n}` }));
      const results = await Promise.allSettled((await Promise.all(forged)).map(verify));
      expect(results.every(({ status }) => status === "rejected")).toBe(true);
      for (let n = before; n < state.loads; n++) times.push(second);
    }
    for (const start of times)
      expect(times.filter((time) => time >= start && time < start + 60).length).toBeLessThan(3);
    expect(state.loads).toBeGreaterThan(3);
  });
});

describe("three servers", () => {
  test("take a new key and refuse the removed one within 36 s, with two loads a minute each under a flood of invented ids", async () => {
    const { state, server } = issuer();
    const servers = [server(), server(), server()];
    const [before, after] = [await newKey("k1"), await newKey("k2")];
    const [old, fresh] = [await before.token(), await after.token()];
    const forged = await Promise.all(Array.from({ length: 6 }, (_, n) => after.token({ kid: `made_up_${n}` })));
    const ROTATED_AT = 70;
    const wrong: string[] = [];
    for (let second = 0; second < 120; second++) {
      state.now = second * 1000;
      state.keys = [(second < ROTATED_AT ? before : after).jwk];
      // Each server began at another time.
      for (const [at, verify] of servers.slice(0, 1 + Math.floor(second / 10)).entries()) {
        await Promise.allSettled(forged.map(verify));
        const [takesOld, takesFresh] = (await Promise.allSettled([old, fresh].map(verify))).map(
          ({ status }) => status === "fulfilled",
        );
        const mayDiffer = second >= ROTATED_AT && second < ROTATED_AT + 36;
        const isNew = second >= ROTATED_AT;
        if (!mayDiffer && (takesOld === isNew || takesFresh !== isNew)) wrong.push(`server ${at} at ${second} s`);
      }
    }
    expect(wrong).toEqual([]);
    expect(state.loads).toBeLessThanOrEqual(servers.length * 2 * 2);
  });
});

describe("an issuer that is away", () => {
  test("holds up the first requests that need its set, and none after a load has failed, until it is back", async () => {
    const { state, verify } = issuer();
    const [before, after] = [await newKey("k1"), await newKey("k2")];
    const [old, fresh] = [await before.token(), await after.token()];
    state.keys = [before.jwk];
    await verify(old);
    let answer = () => {};
    const hang = () => {
      state.answered = new Promise((resolve) => {
        answer = resolve;
      });
    };
    hang();
    state.fails = true;
    state.now += 40_000;
    let answered = 0;
    const waiting = [verify(old), verify(old)].map((each) => each.then(() => answered++));
    await new Promise(setImmediate);
    expect(answered).toBe(0);
    answer();
    await Promise.all(waiting);
    for (let round = 0; round < 3; round++) {
      hang();
      state.now += 31_000;
      // Answered while the load hangs.
      expect(await verify(old)).toEqual({ id: "usr_1" });
      answer();
      await new Promise(setImmediate);
    }
    expect(state.loads).toBe(5);
    Object.assign(state, { fails: false, keys: [after.jwk], now: state.now + 31_000 });
    await verify(old);
    await new Promise(setImmediate);
    await expect(verify(old)).rejects.toMatchObject(refused);
    expect(await verify(fresh)).toEqual({ id: "usr_1" });
  });

  test("leaves the last good set in force, for a day", async () => {
    const { state, verify } = issuer();
    const key = await newKey("k1");
    state.keys = [key.jwk];
    await verify(await key.token());
    state.fails = true;
    state.now += 23 * 3_600_000;
    expect(await verify(await key.token())).toEqual({ id: "usr_1" });
    state.now += 2 * 3_600_000;
    await expect(verify(await key.token())).rejects.toMatchObject({ code: "TOKEN_KEYS_UNAVAILABLE" });
  });

  test("from the start lets no user in, and is asked again after some seconds", async () => {
    const { state, verify } = issuer();
    const key = await newKey("k1");
    state.fails = true;
    for (let n = 0; n < 10; n++)
      await expect(verify(await key.token())).rejects.toMatchObject({ code: "TOKEN_KEYS_UNAVAILABLE" });
    expect(state.loads).toBe(1);
    Object.assign(state, { fails: false, keys: [key.jwk], now: 6_000 });
    expect(await verify(await key.token())).toEqual({ id: "usr_1" });
  });

  test("or publishes nonsense: the last good set stays", async () => {
    const { state, verify } = issuer();
    const key = await newKey("k1");
    state.keys = [key.jwk];
    await verify(await key.token());
    state.keys = "none" as unknown as JWK[];
    state.now += 60_000;
    expect(await verify(await key.token())).toEqual({ id: "usr_1" });
  });
});

describe("over real sockets", () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const clean of cleanups.splice(0).reverse()) await clean();
  });

  async function listen(server: Server): Promise<string> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(
      async () => server.closeAllConnections(),
      () => new Promise((resolve) => server.close(resolve)),
    );
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
  }

  async function positions(jwks: { url: string } | { file: string }, token: string, allowPrivate: string[]) {
    const backend = await openBackend();
    const jwt = { algorithm: "ES256" as const, jwks };
    const handlers = { listPositions: async () => [] };
    const services = { handlers, isSealed: () => true, refusals: new RefusalLog() };
    const server = await serve(backend, handlers, { jwt, services, network: { allowPrivate } });
    cleanups.push(
      () => backend.close(),
      () => server.close(),
    );
    const headers = { "x-api-key": PUBLIC_KEY, authorization: token };
    const response = await fetch(`${server.url}/v1/positions`, { headers });
    const remembered = services.refusals.find(response.headers.get("request-id") ?? "");
    return { status: response.status, headers: response.headers, body: await response.text(), remembered };
  }

  test("a set is fetched from an allowed address, and read from a file", async () => {
    const key = await newKey("k1");
    const set = JSON.stringify({ keys: [key.jwk] });
    const url = await listen(createServer((_req, res) => res.end(set)));
    expect((await positions({ url }, await key.token(), ["127.0.0.0/8"])).status).toBe(200);
    const directory = await mkdtemp(join(tmpdir(), "pmctl-jwks-"));
    cleanups.push(() => rm(directory, { recursive: true }));
    const file = join(directory, "jwks.json");
    await writeFile(file, set);
    expect((await positions({ file }, await key.token(), [])).status).toBe(200);
  });

  test("a private address is never asked unless it is allowed; the operator learns why, and no caller", async () => {
    const key = await newKey("k1");
    let asked = 0;
    const url = await listen(
      createServer((_req, res) => {
        asked += 1;
        res.end(JSON.stringify({ keys: [key.jwk] }));
      }),
    );
    const { status, headers, body, remembered } = await positions({ url }, await key.token(), ["10.0.0.0/8"]);
    expect([status, body]).toEqual([500, '{"error":"User tokens cannot be checked at the moment"}']);
    expect([headers.get("error-code"), headers.get("retry-after")]).toEqual(["TOKEN_KEYS_UNAVAILABLE", "5"]);
    expect(remembered && refusalSentence(remembered)).toBe(
      "the key set in auth.jwt.jwks of the tenant file cannot be read: The address is not allowed",
    );
    expect(asked).toBe(0);
  });

  test.each<[string, (res: import("node:http").ServerResponse, set: string) => void]>([
    ["redirects", (res) => res.writeHead(302, { location: "/elsewhere" }).end()],
    ["fails", (res, set) => res.writeHead(500).end(set)],
    ["never ends", (res) => res.write("{")],
    ["is endless", (res) => res.end(Buffer.alloc(300 * 1024, " "))],
    ["is no JSON", (res) => res.end("<html>")],
  ])("an answer that %s gives no set", async (_name, answer) => {
    const url = await listen(createServer((_req, res) => answer(res, "{}")));
    const outgoing = new OutgoingHttp({ allowPrivate: ["127.0.0.1/32"] });
    cleanups.push(() => outgoing.close());
    const keySet = new KeySet(keySetLoader({ url }, outgoing));
    await keySet.ready();
    expect(keySet.generation).toBe(0);
  });
});
