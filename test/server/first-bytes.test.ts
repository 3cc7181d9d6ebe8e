import { once } from "node:events";
import { connect as connectTcp, createServer } from "node:net";
import { connect } from "node:tls";
import { describe, expect, test } from "vitest";
import { hostOfFirstBytes } from "../../src/server/shared-port/first-bytes.ts";
import { mergeMetrics } from "../../src/server/shared-port/merge-metrics.ts";

const hostOf = (text: string) => hostOfFirstBytes(Buffer.from(text, "latin1"));

/** What a TLS client sends first. */
async function clientHello(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const { port } = server.address() as { port: number };
  const client = connect({ socket: connectTcp(port, "127.0.0.1"), servername, ALPNProtocols: ["h2", "http/1.1"] });
  client.on("error", () => {});
  const [socket] = await accepted;
  const [hello] = await once(socket, "data");
  client.destroy();
  server.close();
  return hello;
}

describe("the host that a connection is for", () => {
  test.each([
    ["GET / HTTP/1.1\r\nHost: acme.test:8080\r\n\r\n", "acme.test:8080"],
    ["\r\nPOST /v1 HTTP/1.1\r\na: b\r\nhOsT:acme.test\r\n\r\nhost: other.test\r\n\r\n", "acme.test"],
    ["GET http://acme.test/x HTTP/1.1\r\nhost: other.test\r\n\r\n", "acme.test"],
    ["GET / HTTP/1.0\r\n\r\n", ""],
    ["\x00\x01 no HTTP", ""],
    [`GET / HTTP/1.1\r\nx: ${"y".repeat(20_000)}`, ""],
  ])("is read from the first request's head: %j", (text, host) => expect(hostOf(text)).toBe(host));

  test("needs no less than the whole head, and no byte of it more", () => {
    const head = "GET / HTTP/1.1\r\nhost: acme.test\r\n\r\n";
    for (let length = 0; length < head.length; length += 1) expect(hostOf(head.slice(0, length))).toBeUndefined();
    expect(hostOf(head)).toBe("acme.test");
  });

  test("is the name that a TLS client asks for, however its first message is cut", async () => {
    const hello = await clientHello("Acme.test");
    for (let length = 0; length < hello.length; length += 1)
      expect(hostOfFirstBytes(hello.subarray(0, length))).toBeUndefined();
    expect(hostOfFirstBytes(hello)).toBe("Acme.test");
    const cut = [hello.subarray(5, 105), hello.subarray(105)].map((part) =>
      Buffer.concat([hello.subarray(0, 3), Buffer.from([part.length >> 8, part.length & 255]), part]),
    );
    expect(hostOfFirstBytes(Buffer.concat(cut))).toBe("Acme.test");
  });

  test("is none for a TLS client that names none, or sends anything else in a first message", async () => {
    expect(hostOfFirstBytes(await clientHello(""))).toBe("");
    expect(hostOfFirstBytes(Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]))).toBe("");
    expect(hostOfFirstBytes(Buffer.alloc(20_000, 22))).toBe("");
  });
});

test("metrics of several tenants are one text with each family once, and every sample says whose it is", () => {
  const text = (value: number) =>
    `# HELP a_total Help.\n# TYPE a_total counter\na_total ${value}\n# TYPE b gauge\nb{x="y"} 1\n`;
  const parts = ["acme", "zeta"].map((value, index) => ({ label: "tenant", value, text: text(index) }));
  expect(mergeMetrics(parts).trimEnd().split("\n")).toEqual([
    "# HELP a_total Help.",
    "# TYPE a_total counter",
    'a_total{tenant="acme"} 0',
    'a_total{tenant="zeta"} 1',
    "# TYPE b gauge",
    'b{tenant="acme",x="y"} 1',
    'b{tenant="zeta",x="y"} 1',
  ]);
});
