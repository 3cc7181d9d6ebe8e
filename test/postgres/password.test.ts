import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { afterEach, expect, test, vi } from "vitest";
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

const IN_CLEAR = message("R", 3);
const AS_MD5 = message("R", 5, "salt");
const REFUSED = message("E", "SFATAL\0C28P01\0Mno\0\0");

type Pair = Awaited<ReturnType<typeof makePair>>;

let stop = () => {};
afterEach(() => stop());

/** A server that answers the first message of a session with the first of these, and so on, and the last one's client with a refusal. */
async function serverThat(answers: Buffer[], { pair }: { pair?: Pair } = {}) {
  const sent: string[] = [];
  const sockets = new Set<Socket>();
  const serve = (socket: Socket) => {
    let step = 0;
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
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
      else socket.write(answer);
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

/** The answers of a fresh connection to what it was asked. */
async function loginAt({ port, sent }: { port: number; sent: string[] }, query = "", login = "someone:its%20own") {
  const sql = connect({ url: `postgres://${login}@127.0.0.1:${port}/acme${query}` }, { name: "test", max: 1 });
  await sql`select 1`.catch(() => undefined);
  await sql.end({ timeout: 0 });
  return { told: sent.filter((each) => each.startsWith("p")) };
}

test("an address without a password is not given the one of the environment, whose host it need not be", async () => {
  const pair = await makePair({ names: ["db.example"] });
  vi.stubEnv("PGPASSWORD", "of-another-database");
  try {
    const { told } = await loginAt(await serverThat([IN_CLEAR], { pair }), "?sslmode=require", "someone");
    expect(told).toEqual(["p\0\0\0\x05\0"]);
  } finally {
    vi.unstubAllEnvs();
  }
});

test.each([
  ["in clear", IN_CLEAR, `p\0\0\0\x0c${PASSWORD}\0`],
  ["as MD5", AS_MD5, "p\0\0\0(md5"],
])("a password is told %s inside TLS that sslmode demands", async (_, question, answer) => {
  const pair = await makePair({ names: ["db.example"] });
  const { told } = await loginAt(await serverThat([question], { pair }), "?sslmode=require");
  expect(told).toEqual([expect.stringContaining(answer)]);
});
