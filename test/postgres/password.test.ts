import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { connect } from "../../src/postgres/connect.ts";

test("an address without a password is not given the one of the environment, whose host it need not be", async () => {
  const sent: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      sent.push(chunk.toString("latin1"));
      // AuthenticationCleartextPassword, and then a refusal.
      const refusal = "SFATAL\0C28P01\0Mno\0\0";
      if (chunk[0] === "p".charCodeAt(0)) socket.end(`E\0\0\0${String.fromCharCode(4 + refusal.length)}${refusal}`);
      else socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  vi.stubEnv("PGPASSWORD", "of-another-database");
  try {
    for (const [login, password] of [
      ["someone", ""],
      ["someone:its%20own", "its own"],
    ]) {
      sent.length = 0;
      const sql = connect({ url: `postgres://${login}@127.0.0.1:${port}/acme` }, { name: "test", max: 1 });
      await expect(sql`select 1`).rejects.toThrow();
      await sql.end({ timeout: 0 });
      expect(sent.find((each) => each.startsWith("p"))).toBe(
        `p${String.fromCharCode(0, 0, 0, 5 + (password?.length ?? 0))}${password}\0`,
      );
    }
  } finally {
    vi.unstubAllEnvs();
    server.close();
  }
});
