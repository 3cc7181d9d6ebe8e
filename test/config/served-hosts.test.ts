import { expect, test } from "vitest";
import { commandHost, repeatedHosts, servedHosts } from "../../src/config/hosts.ts";
import { complaints, parse, tenantText } from "./support.ts";

const withServer = (server: string, baseUrl = "https://predict.acme.example") => parse(tenantText({ server, baseUrl }));

test("the host of baseUrl belongs to the stated ones unless it is a loopback name; without stated ones any is served", () => {
  const hosts = "{ hosts: [Shop.ACME.example., '*.acme.example'] }";
  expect(servedHosts(withServer(hosts))).toEqual(["shop.acme.example", "*.acme.example", "predict.acme.example"]);
  expect(servedHosts(withServer(hosts, "http://localhost:8080"))).toEqual(["shop.acme.example", "*.acme.example"]);
  expect(servedHosts(withServer("{ port: 8081 }"))).toEqual([]);
});

test("commands ask under a name that is served: of admin operations where they have their own, else of the tenant", () => {
  expect(commandHost(withServer("{ port: 8081 }"))).toBeUndefined();
  expect(commandHost(withServer("{ hosts: ['*.acme.example'] }"))).toBe("pmctl.acme.example");
  expect(commandHost(withServer("{ hosts: ['*.acme.example'], adminHosts: [ops.acme.example] }"))).toBe(
    "ops.acme.example",
  );
  expect(commandHost(withServer("{ adminHosts: ['::1'] }"))).toBe("[::1]");
});

test("hosts have neither scheme nor port, and admin hosts are among them", () => {
  expect(complaints({ server: "{ hosts: ['https://acme.example'] }" })).toEqual([
    'server.hosts[0]: must be a host such as predict.acme.example or *.acme.example, without scheme and port (got "https://acme.example")',
  ]);
  expect(complaints({ server: "{ hosts: [acme.example], adminHosts: [acme.example, ops.acme.example] }" })).toEqual([
    "server.adminHosts[1]: must be one of server.hosts",
  ]);
});

test("a host that two tenants have is a problem of the second, and names both", () => {
  const tenant = (id: string, server: string, baseUrl = `https://${id}.example`) => ({
    ...withServer(server, baseUrl),
    tenant: id,
  });
  const found = repeatedHosts([
    tenant("acme", "{ hosts: [shop.example, shop.example, '*.acme.example'] }"),
    tenant("beta", "{ hosts: [x.acme.example, SHOP.example] }"),
    tenant("gamma", "{ port: 8082 }", "https://acme.example"),
    tenant("delta", "{ port: 8083 }", "http://localhost:1"),
    tenant("epsilon", "{ port: 8084 }", "http://localhost:1"),
  ]);
  expect(found.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    "server.hosts[1]: shop.example is a host of both acme and beta",
    "baseUrl: acme.example is a host of both acme and gamma",
  ]);
});
