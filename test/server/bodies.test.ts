import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import { readBody } from "../../src/server/body.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

type RequestBody = NonNullable<RequestInit["body"]>;

/** Refuses with what it was given, so that a test can see it. */
const handlers = {
  getHealth: async () => ({ ok: true, service: "acme", db: true, uptimeSec: 1 }),
  createMarket: async (input: unknown) => {
    const text = JSON.stringify(input, (_key, value) => (typeof value === "bigint" ? `${value}` : value));
    throw new Fault("REFUSED", text);
  },
  suspendMarket: async ({ id }: { id: string }) => ({ id, status: "suspended" }),
} as unknown as Handlers;

const { server } = serverOfTests(handlers);

describe("bodies", () => {
  const market = {
    question: "Q?",
    category: "c",
    kind: "cpmm",
    p0: 0.5,
    closeAt: "2030-01-01T00:00:00Z",
    resolutionRef: "r",
    meta: {},
  };
  const post = (body: RequestBody, headers: Record<string, string> = { "content-type": "application/json" }) =>
    fetch(`${server.url}/v1/markets`, {
      method: "POST",
      body,
      headers: { "x-api-key": ADMIN_KEY, ...headers },
      duplex: "half",
    } as RequestInit);
  const accepted = async (response: Response) => {
    expect(response.headers.get("error-code")).toBe("REFUSED");
    return JSON.parse(((await response.json()) as { error: string }).error);
  };

  test("of JSON are read, under the content type with or without a charset", async () => {
    const text = JSON.stringify(market);
    for (const type of ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"])
      expect(await accepted(await post(text, { "content-type": type }))).toMatchObject({ question: "Q?" });
  });

  test("unknown keys are ignored, and one that would change every object is refused", async () => {
    const text = JSON.stringify({ ...market, extra: 1 });
    for (const hostile of [
      text.replace("{", '{"__proto__":{"admin":true},'),
      text.replace('"meta":{}', '"meta":{"__proto__":{"x":1}}'),
    ])
      await expectRefusal(await post(hostile), 400, "BAD_REQUEST");
    const input = await accepted(await post(text.replace('"meta":{}', '"meta":{"constructor":1}')));
    expect(input).not.toHaveProperty("extra");
    expect(input.meta).toEqual({ constructor: 1 });
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  const nested = (depth: number) => `{"meta":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  test.each<[string, RequestBody]>([
    ["nothing", ""],
    ["half an object", "{"],
    ["a list", "[]"],
    ["a text", '"x"'],
    ["null", "null"],
    ["a number", "1"],
    ["two objects", "{}{}"],
    ["NaN", '{"p0":NaN}'],
    ["a comment", "{} // x"],
    ["a byte order mark", "\ufeff{}"],
    ["bytes that are not UTF-8", Buffer.concat([Buffer.from('{"question":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ["an infinite number", JSON.stringify(market).replace("0.5", "1e400")],
    ["an infinite number in an unknown field", JSON.stringify({ ...market, x: [1] }).replace("[1]", "[-1e400]")],
    ["a NUL in a text", JSON.stringify({ ...market, question: "a\0b" })],
    ["a NUL in meta", JSON.stringify({ ...market, meta: { a: ["\0"] } })],
    ["half a surrogate pair in meta", JSON.stringify({ ...market, meta: { a: ["\ud800"] } })],
    ["half a surrogate pair in a key of meta", JSON.stringify({ ...market, meta: { "a\udfff": 1 } })],
    ["a key given twice", JSON.stringify(market).replace("{", '{"p0":0.9,')],
    ["a key given twice, once in another spelling", JSON.stringify(market).replace("{", '{"p\\u0030":0.9,')],
    ["a key given twice inside", JSON.stringify(market).replace('"meta":{}', '"meta":{"a":[{"b":1,"b":1}]}')],
    ["33 levels", nested(32)],
    ["20,000 levels", nested(20_000)],
    ["form data", "question=Q"],
    ["64 KiB and a byte", `{"x":"${"x".repeat(64 * 1024 - 7)}"}`],
  ])("of %s are 400", async (_name, body) => {
    await expectRefusal(await post(body), 400, "BAD_REQUEST");
  });

  test.each(["9007199254740993", "0.300000000000000044", "1e400", "-0"])(
    "with the number %s, which a double changes, are 400 with its path",
    async (number) => {
      const text = JSON.stringify({ ...market, meta: { sizes: [1, 2] } }).replace("[1,2]", `[1,${number}]`);
      const response = await post(text);
      expect(await response.clone().text()).toContain(
        "meta.sizes.1: is a number that JSON readers change: write it with at most 15 digits, or in quotes where the field takes a text",
      );
      await expectRefusal(response, 400, "BAD_REQUEST");
    },
  );

  test("of 64 KiB and of 32 levels pass the limits", async () => {
    const filler = JSON.stringify({ ...market, x: "" }).length;
    await accepted(await post(JSON.stringify({ ...market, x: "x".repeat(64 * 1024 - filler) })));
    await accepted(await post(JSON.stringify({ ...market, x: 0 }).replace('"x":0', `"x":${nested(31).slice(8, -1)}`)));
  });

  test.each([
    ["text/plain", { "content-type": "text/plain" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["JSON with a suffix", { "content-type": "application/json-patch" }],
    ["two types", { "content-type": "application/json, application/json" }],
    ["nothing", { "content-type": "" }],
  ])("that say they are %s are 400", async (_name, headers) => {
    await expectRefusal(await post(JSON.stringify(market), headers), 400, "BAD_REQUEST");
  });

  test("with meta that only looks like an escape pass, and whole surrogate pairs too", async () => {
    const meta = { a: "\\u0000 \\\\ud800 \u{1f600}" };
    expect((await accepted(await post(JSON.stringify({ ...market, meta })))).meta).toEqual(meta);
  });

  test("with colons and quotes in texts, and the same key in several objects, pass", async () => {
    const meta = { a: 'x":"\\', b: [{ a: ":", "c:d": '\\"' }, { a: "\\\\:" }], c: {} };
    expect((await accepted(await post(JSON.stringify({ ...market, meta }, null, 1)))).meta).toEqual(meta);
  });

  test("of any size are refused after 64 KiB, while the client is still sending", async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 64 * 1024;
        if (sent > 100 * 1024 * 1024) controller.close();
        else controller.enqueue(new Uint8Array(64 * 1024));
      },
    });
    await expectRefusal(await post(endless), 400, "BAD_REQUEST");
  });

  test("are not asked for where there is nothing to say", async () => {
    const init = { method: "POST", headers: { "x-api-key": ADMIN_KEY } };
    const response = await fetch(`${server.url}/v1/markets/m1/suspend`, init);
    expect([response.status, await response.json()]).toEqual([200, { id: "m1", status: "suspended" }]);
    const withBody = { ...init, body: '{"id":"m2"}', headers: { ...init.headers, "content-type": "application/json" } };
    expect(await (await fetch(`${server.url}/v1/markets/m1/suspend`, withBody)).json()).toMatchObject({ id: "m1" });
  });

  test("that end early leave the server standing", async () => {
    const head = `POST /v1/markets HTTP/1.1\r\nhost: x\r\nx-api-key: ${ADMIN_KEY}\r\ncontent-type: application/json\r\n`;
    for (const framing of ["content-length: 100\r\n\r\n{", "transfer-encoding: chunked\r\n\r\nff\r\n{"]) {
      const socket = connect(server.port, "127.0.0.1", () => socket.write(head + framing));
      await delay(50);
      socket.destroy();
    }
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
});

/** A request that names a body of ten bytes and sends four. */
async function partOfRequest(): Promise<{ req: IncomingMessage; leave: () => void }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n1234");
  const [req] = (await once(server, "request")) as [IncomingMessage];
  return { req, leave: () => void socket.destroy() };
}

test("the body of a client that leaves while it is read has ended early", async () => {
  const { req, leave } = await partOfRequest();
  const body = readBody(req, 100);
  leave();
  await expect(body).rejects.toEqual(new Fault("BAD_REQUEST", "The body ended early"));
});

test("the body of a client that left before it was asked for has ended early", async () => {
  const { req, leave } = await partOfRequest();
  const closed = new Promise((resolve) => req.once("close", resolve));
  leave();
  await closed;
  await expect(readBody(req, 100)).rejects.toEqual(new Fault("BAD_REQUEST", "The body ended early"));
});
