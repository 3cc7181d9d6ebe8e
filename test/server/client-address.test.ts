import { describe, expect, test } from "vitest";
import { ClientAddresses } from "../../src/server/client-address.ts";

describe("the address that a request counts as", () => {
  const direct = new ClientAddresses([]);

  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:DB8:1:3::1", "2001:db8:1:3::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ])("%s counts as %s", (peer, bucket) => {
    expect(direct.bucketOf(peer, undefined)).toBe(bucket);
  });

  test("a peer that is not a trusted proxy cannot name another address", () => {
    expect(direct.bucketOf("192.0.2.1", "203.0.113.9")).toBe("192.0.2.1");
    const behindProxy = new ClientAddresses(["10.0.0.0/8"]);
    expect(behindProxy.bucketOf("192.0.2.1", "203.0.113.9")).toBe("192.0.2.1");
  });

  describe("behind trusted proxies", () => {
    const behind = new ClientAddresses(["10.0.0.0/8", "2001:db8:ffff::/48"]);
    test.each([
      ["the entry that the proxy wrote", "203.0.113.9", "203.0.113.9"],
      ["not what the client wrote before it", "198.51.100.1, 203.0.113.9", "203.0.113.9"],
      ["past further proxies of ours", "198.51.100.1, 203.0.113.9, 10.1.2.3 ,10.0.0.7", "203.0.113.9"],
      ["an IPv6 client by its /64", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
      ["past an IPv6 proxy", "203.0.113.9, 2001:db8:ffff::1", "203.0.113.9"],
      ["an IPv4 client written as IPv6", "::ffff:203.0.113.9", "203.0.113.9"],
      ["the outermost proxy when all are ours", "10.9.9.9, 10.0.0.7", "10.9.9.9"],
      ["garbage left of the client does not matter", "<script>, 203.0.113.9", "203.0.113.9"],
    ])("%s", (_name, forwarded, bucket) => {
      expect(behind.bucketOf("10.0.0.1", forwarded)).toBe(bucket);
      expect(behind.bucketOf("::ffff:10.0.0.1", forwarded)).toBe(bucket);
    });

    test.each(["", ",", "unknown", "203.0.113.9:4711", "010.0.0.1", "1", "0x7f.1", "203.0.113.9, ", "203.0.113.999"])(
      "the peer's own address when the nearest entry is not an address: %j",
      (forwarded) => {
        expect(behind.bucketOf("10.0.0.1", forwarded)).toBe("10.0.0.1");
      },
    );

    test("a header of the largest size is walked in no time", () => {
      const header = `${"10.0.0.1,".repeat(1800)}10.0.0.1`;
      const took = Array.from({ length: 20 }, () => {
        const startedAt = performance.now();
        behind.bucketOf("10.0.0.1", header);
        return performance.now() - startedAt;
      });
      // The quickest of them: the others may have waited for their turn on a busy machine.
      expect(Math.min(...took)).toBeLessThan(100);
    });
  });

  test.each(["10.0.0.1", "10.0.0.0/33", "proxy", ""])("%j is not a network to trust", (cidr) => {
    expect(() => new ClientAddresses([cidr])).toThrow("server.trustProxy");
  });
});
