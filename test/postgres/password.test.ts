import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { failureOf } from "../../src/cli/errors.ts";
import { connect } from "../../src/postgres/connect.ts";
import { makePair } from "../support/certificates.ts";

const PASSWORD = "its own";

function message(type: string, ...parts: (string | number)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === "string") return Buffer.from(part);
      const number = Buffer.alloc(4);
      number.writeInt32BE(part);
      return number;
    }),
  );
  const head = Buffer.from(`${type}\0\0\0\0`);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

const ACCEPTED = Buffer.concat([message("R", 0), message("Z", "I")]);
const IN_CLEAR = message("R", 3);
const AS_MD5 = message("R", 5, "salt");
const SCRAM = message("R", 10, "SCRAM-SHA-256\0\0");
const CHALLENGE = message("R", 11, "r=nonce,s=c2FsdA==,i=4096");
const SIGNATURE = message("R", 12, "v=AAAA");
const NOTICE = message("N", "SNOTICE\0C00000\0Mhello\0\0");
const REFUSED = message("E", "SFATAL\0C28P01\0Mno\0\0");

type Pair = Awaited<ReturnType<typeof makePair>>;

let stop = () => {};
afterEach(() => stop());

/** A server that answers the first message of a session with the first of these, and so on, and the last one's client with a refusal. */
async function serverThat(answers: Buffer[], { inPieces = false, pair }: { inPieces?: boolean; pair?: Pair } = {}) {
  const sent: string[] = [];
  const sockets = new Set<Socket>();
  const serve = (socket: Socket) => {
    let step = 0;
    socket.on("error", () => {});
    socket.on("data", async (chunk: Buffer) => {
      const said = chunk.toString("latin1");
      if (chunk.length === 8 && chunk.readUInt32BE(4) === 80_877_103) {
        socket.removeAllListeners("data").write(pair ? "S" : "N");
        if (pair) serve(new TLSSocket(socket, { isServer: true, ...pair }));
        else serve(socket);
        return;
      }
      sent.push(said);
      const answer = answers[step++];
      if (answer === undefined) socket.end(REFUSED);
      else if (!inPieces) socket.write(answer);
      else
        for (const byte of answer) {
          socket.write(Buffer.from([byte]));
          await setImmediate();
        }
    });
  };
  const server = createServer((socket) => {
    sockets.add(socket.setNoDelay());
    serve(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stop = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return { sent, port };
}

/** How a query on a fresh connection ends, and the answers of the client to what it was asked. */
async function loginAt({ port, sent }: { port: number; sent: string[] }, query = "", login = "someone:its%20own") {
  const sql = connect({ url: `postgres://${login}@127.0.0.1:${port}/acme${query}` }, { name: "test", max: 1 });
  const error = await sql`select 1`.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  await sql.end({ timeout: 0 });
  const told = sent.filter((each) => each.startsWith("p"));
  return { ...failureOf(error), told, hasQueried: sent.some((each) => /^[PQ]\0/.test(each)) };
}

describe("the password of a database", () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await makePair({ names: ["db.example"] });
  });

  test.each<[string, Buffer[], RegExp, number]>([
    ["in clear", [IN_CLEAR], /asks for the password in clear/, 0],
    ["in clear behind a notice", [Buffer.concat([NOTICE, IN_CLEAR])], /asks for the password in clear/, 0],
    ["as MD5", [AS_MD5], /asks for the password as MD5/, 0],
    ["in clear once SCRAM has begun", [SCRAM, IN_CLEAR], /asks for the password in clear/, 1],
    ["by SCRAM without a signature", [SCRAM, CHALLENGE, ACCEPTED], /without showing that it knows the password/, 2],
    ["by half of SCRAM", [SCRAM, ACCEPTED], /without showing that it knows the password/, 1],
    ["by SCRAM twice", [SCRAM, CHALLENGE, SCRAM], /a kind of login that pmctl does not have/, 2],
    ["by Kerberos", [message("R", 7)], /a kind of login that pmctl does not have/, 0],
    ["in a message without an end", [Buffer.from("N\x7f\0\0\0")], /does not speak/, 0],
  ])("is not told to a server that asks for it %s", async (_, answers, words, answered) => {
    for (const query of ["", "?sslmode=disable"])
      for (const inPieces of [false, true]) {
        const server = await serverThat(answers, { inPieces });
        const { exit, code, message: text, told, hasQueried } = await loginAt(server, query);
        stop();
        expect([exit, code, text]).toEqual([9, "DATABASE_UNAVAILABLE", expect.stringMatching(words)]);
        expect(told).toHaveLength(answered);
        expect(told.join()).not.toContain(PASSWORD);
        expect(hasQueried).toBe(false);
      }
  });

  test("is not told either with a wrong signature", async () => {
    const server = await serverThat([SCRAM, CHALLENGE, Buffer.concat([SIGNATURE, ACCEPTED])]);
    expect(await loginAt(server, "?sslmode=disable")).toMatchObject({
      message: expect.stringMatching(/correct signature/),
      hasQueried: false,
    });
  });

  test.each(["", "?sslmode=prefer"])(
    "is not told in clear inside TLS that sslmode does not demand (%s)",
    async (query) => {
      const { told, message: text } = await loginAt(await serverThat([IN_CLEAR], { pair }), query);
      expect([told, text]).toEqual([[], expect.stringMatching(/asks for the password in clear/)]);
    },
  );

  test.each([
    ["in clear", IN_CLEAR, `p\0\0\0\x0c${PASSWORD}\0`],
    ["as MD5", AS_MD5, "p\0\0\0(md5"],
  ])("is told %s inside TLS that sslmode demands", async (_, question, answer) => {
    const { told } = await loginAt(await serverThat([question], { pair }), "?sslmode=require");
    expect(told).toEqual([expect.stringContaining(answer)]);
  });

  test("is not told to a server that asks for it once the login is accepted", async () => {
    for (const question of [IN_CLEAR, CHALLENGE]) {
      const { told } = await loginAt(await serverThat([ACCEPTED, question]), "?sslmode=disable");
      stop();
      expect(told).toHaveLength(1);
      expect(told.join()).not.toContain(PASSWORD);
    }
  });

  test("is not told to a server whose first words come before the client's", async () => {
    const sent: string[] = [];
    const early = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", (chunk) => sent.push(chunk.toString("latin1")));
      // The beginning of a notice that a reader would wait for, and the driver not hear.
      socket.write("N\0\0\0\x20");
      socket.write(IN_CLEAR);
    });
    early.listen(0, "127.0.0.1");
    await once(early, "listening");
    try {
      const { port } = early.address() as AddressInfo;
      const { told, exit } = await loginAt({ port, sent }, "?sslmode=disable&connect_timeout=1");
      expect([told, exit]).toEqual([[], 9]);
    } finally {
      early.close();
    }
  });

  test("is not the one of the environment, whose host it need not be", async () => {
    vi.stubEnv("PGPASSWORD", "of-another-database");
    try {
      const { told } = await loginAt(await serverThat([IN_CLEAR], { pair }), "?sslmode=require", "someone");
      expect(told).toEqual(["p\0\0\0\x05\0"]);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
