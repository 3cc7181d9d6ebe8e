import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostPattern, isListedHost, isPublic, type OutgoingRules } from "../../src/domain/access/networks.ts";
import { OutgoingFailure, OutgoingHttp } from "../../src/outgoing/guarded-fetch.ts";

let canary: Server;
let port: number;
let hits = 0;
beforeAll(async () => {
  canary = createServer((_req, res) => {
    hits += 1;
    res.end("reached");
  });
  await new Promise<void>((resolve) => canary.listen(0, "127.0.0.1", resolve));
  port = (canary.address() as AddressInfo).port;
});
afterAll(() => canary.close());

const options = { timeoutMs: 2000, limitBytes: 100 };

describe("an outgoing request", () => {
  test.each([
    "http://127.0.0.1:PORT/",
    "https://127.0.0.1:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f.1:PORT/",
    "http://127.1:PORT/",
    "http://[::1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::7f00:1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://0.0.0.0:PORT/",
    "http://localhost:PORT/",
    "https://localhost:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "ftp://127.0.0.1:PORT/",
    "file:///etc/passwd",
    "http://user:secret@127.0.0.1:PORT/",
    "not a url",
  ])("does not reach %s", async (address) => {
    const outgoing = new OutgoingHttp();
    const before = hits;
    await expect(outgoing.request(address.replace("PORT", String(port)), options)).rejects.toBeInstanceOf(
      OutgoingFailure,
    );
    expect(hits).toBe(before);
    await outgoing.close();
  });

  test("reaches a private network that is allowed, by address and by name", async () => {
    const outgoing = new OutgoingHttp({ allowPrivate: ["127.0.0.0/8", "::1/128"] });
    for (const host of ["127.0.0.1", "localhost"]) {
      const { status, body } = await outgoing.request(`http://${host}:${port}/`, options);
      expect([status, body.toString()]).toEqual([200, "reached"]);
    }
    await outgoing.close();
  });

  test("does not reach the internet by plain http", async () => {
    const outgoing = new OutgoingHttp({ allowPrivate: ["127.0.0.0/8"] });
    await expect(outgoing.request("http://93.184.216.34/", options)).rejects.toThrow("not allowed");
    await outgoing.close();
  });
});

describe("ports and hosts of outgoing requests", () => {
  const answerOf = async (rules: OutgoingRules, address: string) => {
    const outgoing = new OutgoingHttp(rules);
    try {
      return (await outgoing.request(address.replace("PORT", String(port)), options)).status;
    } catch (error) {
      expect(error).toBeInstanceOf(OutgoingFailure);
      return (error as OutgoingFailure).message;
    } finally {
      await outgoing.close();
    }
  };
  const PRIVATE = { allowPrivate: ["127.0.0.0/8", "::1/128"] };
  const NO_HOST = "The host is not in network.allowHosts";
  const NOT_ALLOWED = "The address is not allowed";

  test("a port of the internet that is not listed is refused before anything is sent", async () => {
    // An address for documentation and a public one alike: nothing is connected to.
    for (const address of ["https://93.184.216.34:22/", "https://[2606:2800:220:1::1]:8443/"])
      expect(await answerOf(PRIVATE, address)).toBe(NOT_ALLOWED);
  });

  test("networks of allowPrivate are open at any port, and names that lead into them", async () => {
    for (const host of ["127.0.0.1", "localhost"]) expect(await answerOf(PRIVATE, `http://${host}:PORT/`)).toBe(200);
  });

  test("where hosts are stated, no other one is reached, not even in a private network", async () => {
    const rules = { ...PRIVATE, allowHosts: ["localhost"] };
    expect(await answerOf(rules, "http://localhost:PORT/")).toBe(200);
    expect(await answerOf(rules, "http://LOCALHOST:PORT/")).toBe(200);
    for (const host of ["127.0.0.1", "0x7f.1", "2130706433", "[::1]"])
      expect(await answerOf(rules, `http://${host}:PORT/`)).toBe(NO_HOST);
    expect(await answerOf({ ...PRIVATE, allowHosts: ["127.0.0.1"] }, "http://0x7f.1:PORT/")).toBe(200);
  });

  test.each([
    ["https://prices.acme.example/", true],
    ["https://PRICES.acme.example./x", true],
    ["https://prices.acme.example.evil.example/", false],
    ["https://evil.example/prices.acme.example", false],
    ["https://evil.example/?@prices.acme.example", false],
    ["https://a.feeds.example/", true],
    ["https://a.b.feeds.example/", false],
    ["https://feeds.example/", false],
    ["https://.feeds.example/", false],
    ["https://xn--bcher-kva.example/", true],
    ["https://B\u00dcCHER.example/", true],
    ["https://93.184.216.34/", false],
  ])("%s is one of the stated hosts: %s", (address, expected) => {
    const stated = ["Prices.Acme.example.", "*.feeds.example", "b\u00fccher.example"].map(
      (host) => hostPattern(host) ?? "",
    );
    const url = URL.canParse(address) ? new URL(address) : undefined;
    expect(url !== undefined && isListedHost(url.hostname, { allowHosts: stated })).toBe(expected);
  });
});

test.each([
  ["93.184.216.34", true],
  ["2606:2800:220:1:248:1893:25c8:1946", true],
  ["::ffff:93.184.216.34", true],
  ["127.0.0.1", false],
  ["100.64.0.1", false],
  ["192.0.2.1", false],
  ["224.0.0.1", false],
  ["255.255.255.255", false],
  ["::", false],
  ["::7f00:1", false],
  ["fe80::1", false],
  ["fd00::1", false],
  ["2002:7f00:1::", false],
  ["2001:db8::1", false],
  ["::ffff:10.0.0.1", false],
  ["nonsense", false],
])("%s is public: %s", (address, expected) => {
  expect(isPublic(address)).toBe(expected);
});
