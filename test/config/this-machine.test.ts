import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { isThisMachine } from "../../src/config/hosts.ts";

test("this machine is localhost, the loopback, what means every address, and the addresses of its interfaces", () => {
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
  const here = ["localhost", "127.0.0.1", "127.9.9.9", "0.0.0.0", "[::1]", "::", "::ffff:127.0.0.1"];
  for (const host of [...here, ...own]) expect([host, isThisMachine(host)]).toEqual([host, true]);
});

test("every other name and address is not, whatever it leads to", () => {
  for (const host of ["", "evil.example", "localhost.", "a.localhost", "localhost.evil.example", "127.0.0.1.nip.io"])
    expect([host, isThisMachine(host)]).toEqual([host, false]);
  for (const address of ["192.0.2.1", "[2001:db8::1]", "::ffff:192.0.2.1", "127.1", "0x7f.1"])
    expect([address, isThisMachine(address)]).toEqual([address, false]);
});
