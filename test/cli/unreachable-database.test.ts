import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../src/cli/errors.ts";
import { connect as openClient } from "../../src/postgres/connect.ts";

const UNAVAILABLE = { exit: 9, code: "DATABASE_UNAVAILABLE" };
/** Whether the server had begun with what was sent cannot be known. */
const UNKNOWN = { exit: 9, code: "OUTCOME_UNKNOWN" };

/** How a command would end by the error of a first query. */
async function failureAt(place: { host: string; port: number }) {
  const sql = openClient({ ...place, user: "pmctl", database: "acme" }, { name: "test", max: 1 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return failureOf(await sql`select 1`.catch((error: unknown) => error));
}

/** A server that answers the first message of each connection so. */
async function serverThat(answer: (socket: Socket) => void): Promise<{ host: string; port: number }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
}

/** PostgreSQL's message of an error that ends the session. */
function fatal(sqlState: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${sqlState}\0Mthe server ends this session\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

test("a command ends with 9 where no server listens, by socket or port", async () => {
  expect(await failureAt({ host: "/tmp/pmctl-nowhere", port: 5432 })).toMatchObject(UNAVAILABLE);
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  expect(await failureAt({ host: "127.0.0.1", port })).toMatchObject(UNAVAILABLE);
});

test.each([
  ["57P01", UNKNOWN],
  ["57P02", UNKNOWN],
  ["57P03", UNAVAILABLE],
  ["53300", UNAVAILABLE],
])("a command ends with 9 when the server ends its session with %s", async (sqlState, expected) => {
  const place = await serverThat((socket) => socket.end(fatal(sqlState)));
  expect(await failureAt(place)).toMatchObject(expected);
});

test("a command ends with 9 when the server resets its connection", async () => {
  const place = await serverThat((socket) => void socket.resetAndDestroy());
  expect(await failureAt(place)).toMatchObject(UNKNOWN);
});

test("a file that is missing is no database that is", async () => {
  const missing = await readFile(join(import.meta.dirname, "nowhere")).catch((error: unknown) => error);
  expect(failureOf(missing)).toMatchObject({ exit: 1, code: "INTERNAL" });
});
