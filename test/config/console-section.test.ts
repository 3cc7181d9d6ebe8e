import { expect, test } from "vitest";
import { complaints, parse, tenantText } from "./support.ts";

const server = (section: string, rest = "port: 8080, opsPort: 9464") => ({
  server: `{ ${rest}, console: ${section} }`,
});
const parsed = (...section: Parameters<typeof server>) => parse(tenantText(server(...section))).server.console;
const TLS = "tls: { cert: a.crt, key: { file: a.key } }";
const ORIGINS = 'origins: ["https://desk.acme.example"]';

test("the console is on by default, on the operations listener, with sessions of half an hour and eight hours", () => {
  const usual = { origins: [], session: { idle: 1_800_000, absolute: 28_800_000 } };
  for (const file of [tenantText(), tenantText(server("{}"))]) expect(parse(file).server.console).toEqual(usual);
});

test.each([
  "false",
  "{}",
  "{ port: 0 }",
  "{ host: 127.0.0.1 }",
  '{ host: "::1", port: 9000 }',
  `{ host: 0.0.0.0, ${TLS}, ${ORIGINS} }`,
  "{ session: { idle: 1s, absolute: 1s } }",
  `{ ${ORIGINS} }`,
  '{ origins: ["http://desk.acme.example:8443"] }',
])("%s is valid", (section) => {
  expect(parsed(section)).toBeDefined();
});

test("a host that is not loopback may take the certificate of server.tls", () => {
  expect(parsed(`{ host: 0.0.0.0, ${ORIGINS} }`, TLS)).toMatchObject({ host: "0.0.0.0" });
});

test.each<[string, string[]]>([
  ["true", ["server.console: must be false, or { host, port, origins, tls, session } (got true)"]],
  [
    "{ host: 0.0.0.0 }",
    [
      "server.console.host: is not loopback: tls is required",
      "server.console.host: is not loopback: origins is required",
    ],
  ],
  [`{ host: 10.0.0.5, ${ORIGINS} }`, ["server.console.host: is not loopback: tls is required"]],
  [`{ host: acme.example, ${TLS} }`, ["server.console.host: is not loopback: origins is required"]],
  ["{ port: 8080 }", ["server.console.port: must differ from server.port (8080)"]],
  ["{ port: 9464 }", ["server.console.port: must differ from server.opsPort (9464)"]],
])("%s is refused in these words", (section, expected) => {
  expect(complaints(server(section))).toEqual(expected);
});

test.each<[string, string]>([
  ["{ session: { idle: 999ms } }", "session.idle"],
  ["{ session: { absolute: 0s } }", "session.absolute"],
  ['{ origins: ["desk.acme.example"] }', "origins[0]"],
  ['{ origins: ["https://desk.acme.example/console"] }', "origins[0]"],
  ['{ origins: ["https://*.acme.example"] }', "origins[0]"],
  ['{ origins: ["*"] }', "origins[0]"],
  ["{ hosts: [] }", "hosts"],
  ["{ tls: { cert: a.crt, key: a.key } }", "tls.key"],
])("%s is refused at its place", (section, place) => {
  expect(complaints(server(section)).map((each) => each.split(": ")[0])).toEqual([`server.console.${place}`]);
});
