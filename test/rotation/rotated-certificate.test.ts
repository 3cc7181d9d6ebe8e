import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:tls";
import { Agent, fetch as fetchThrough } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePair, type TestPair } from "../support/certificates.ts";
import { Fleet } from "./fleet.ts";

let fleet: Fleet;
let pairs: [TestPair, TestPair];
let agent: Agent;
beforeAll(async () => {
  // Under two names, by which a client finds the one that it was shown among those that it trusts.
  pairs = [await makePair({ names: ["one.localhost"] }), await makePair({ names: ["two.localhost"] })];
  // Every request is a connection of its own, and so a look at the certificate.
  agent = new Agent({ pipelining: 0, connect: { ca: pairs.map(({ cert }) => cert) } });
  fleet = await Fleet.open({
    sections: { server: { tls: { cert: "cert.pem", key: { file: "key.pem" } } } },
    files: { "cert.pem": pairs[0].cert, "key.pem": pairs[0].key },
  });
});
afterAll(async () => {
  await fleet?.close();
  await agent.close();
});

async function shownBy(url: string): Promise<string | undefined> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

test("the certificate and its key are replaced while connections come; no server starts over", async () => {
  const headers = { "x-api-key": fleet.values.ACME_PUBLIC_KEY ?? "" };
  fleet.load("connections", (url) => fetchThrough(`${url}/v1/markets`, { headers, dispatcher: agent }));
  await fleet.everyClient();
  // Each file on its own; in between the two do not match, and the old pair goes on.
  await fleet.put("key.pem", pairs[1].key);
  await fleet.everyClient();
  await fleet.put("cert.pem", pairs[1].cert);
  const { fingerprint256: renewed } = new X509Certificate(pairs[1].cert);
  for (const url of fleet.urls) await expect.poll(() => shownBy(url)).toBe(renewed);
  await fleet.everyClient();
  await fleet.quiet();
});
