import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AddressProblem,
  type DatabaseAddress,
  formatDatabaseUrl,
  parseDatabaseHost,
  parseDatabaseUrl,
} from "../../src/domain/access/database-address.ts";

const text = fc
  .string({ unit: "grapheme", maxLength: 12 })
  .filter((value) => !/\p{Cc}/u.test(value) && value.isWellFormed());
const host = fc.oneof(
  fc.domain(),
  fc.ipV4(),
  fc.constantFrom("::1", "2001:db8::5432", "fe80::1", "db_1", "localhost"),
  text.map((name) => `/run/${name}`),
);
const sound = ({ sslmode, sslrootcert }: DatabaseAddress["parameters"]) =>
  sslrootcert !== "system" || sslmode === undefined || sslmode === "verify-full";
const address: fc.Arbitrary<DatabaseAddress> = fc.record({
  hosts: fc.array(fc.record({ host, port: fc.integer({ min: 1, max: 65_535 }) }), { minLength: 1, maxLength: 5 }),
  user: text,
  password: text,
  name: text.filter((name) => name !== ""),
  parameters: fc
    .record(
      {
        target_session_attrs: fc.constantFrom("any", "read-write", "primary"),
        sslmode: fc.constantFrom("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        sslrootcert: fc.constantFrom("system", "/etc/ssl/root &?=+.pem"),
        connect_timeout: fc.nat(999_999).map(String),
        application_name: fc.constantFrom("eu 1", "ü/=&"),
      },
      { requiredKeys: [] },
    )
    .filter(sound),
});

describe("the address of a database", () => {
  test("is given back by its connection string, whatever it holds", () => {
    fc.assert(
      fc.property(address, (each) => {
        expect(parseDatabaseUrl(formatDatabaseUrl(each))).toEqual(each);
      }),
    );
  });

  test("is written the same way once it was read, however it was written before", () => {
    const pieces = fc.constantFrom(
      ...[
        "postgres://",
        "postgresql://",
        "a",
        "b.example",
        ":",
        "5432",
        "0",
        ",",
        "@",
        "/",
        "?",
        "&",
        "=",
        "%2F",
        "%",
        "[::1]",
      ],
      ...["sslmode", "require", "connect_timeout", "application_name", "#", " "],
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 16 }), (written) => {
        const read = addressIn(`postgres://${written.join("")}`);
        if (read) expect(parseDatabaseUrl(formatDatabaseUrl(read))).toEqual(read);
      }),
      { numRuns: 2000 },
    );
  });

  test.each<[string, Partial<DatabaseAddress>]>([
    ["postgres://a/db", { hosts: [{ host: "a", port: 5432 }], user: "", password: "", name: "db", parameters: {} }],
    ["postgresql://u:p%40:x@a:1,[::1],b.c:65535/d%2Fb?", { user: "u", password: "p@:x", name: "d/b" }],
    ["postgres://u:p@ss@a/db", { password: "p@ss" }],
    ["postgres://%2Frun%2Fpg:6432/db?sslmode=disable", { hosts: [{ host: "/run/pg", port: 6432 }] }],
    ["postgres://a/db?sslrootcert=/a+b%20c.pem", { parameters: { sslrootcert: "/a+b c.pem" } }],
  ])("is read from %s", (url, parts) => {
    expect(parseDatabaseUrl(url)).toMatchObject(parts);
  });

  test.each([
    ["mysql://secret/db", /begin with postgres/],
    ["secret", /begin with postgres/],
    ["postgres:///secret", /empty host/],
    ["postgres://secret,,b/db", /empty host/],
    ["postgres://u:secret@/db", /empty host/],
    ["postgres://secret", /name a database/],
    ["postgres://secret/", /name a database/],
    ["postgres://secret:/db", /ports/],
    ["postgres://secret:0/db", /ports/],
    ["postgres://secret:65536/db", /ports/],
    ["postgres://a:5432,secret:54a/db", /ports/],
    ["postgres://::1/secret", /empty host/],
    ["postgres://[secret]/db", /hosts/],
    ["postgres://secret$/db", /hosts/],
    ["postgres://secret/db%00", /control/],
    ["postgres://a/db?secret=1", /no parameters but/],
    ["postgres://a/db?options=-csecret", /no parameters but/],
    ["postgres://a/db?sslmode=secret", /sslmode/],
    ["postgres://a/db?target_session_attrs=secret", /target_session_attrs/],
    ["postgres://a/db?connect_timeout=secret", /connect_timeout/],
    ["postgres://a/db?sslrootcert=", /sslrootcert/],
    ["postgres://secret/db?sslmode=require&sslrootcert=system", /verify-full/],
    ["postgres://a/db?sslmode=require&sslmode=require", /once/],
    ["postgres://secret%/db", /%/],
    ["postgres://u:secret#1@a/db", /percent-encoded/],
    ["postgres://a/db secret", /percent-encoded/],
    [`postgres://${Array.from({ length: 17 }, () => "secret").join()}/db`, /at most 16/],
  ])("is refused in %s, with nothing of it in the text", (url, problem) => {
    expect(() => parseDatabaseUrl(url)).toThrow(problem);
    expect(() => parseDatabaseUrl(url)).not.toThrow(/secret/);
  });

  test.each([
    ["a", { host: "a", port: 5432 }],
    ["a:6432", { host: "a", port: 6432 }],
    ["[::1]:6432", { host: "::1", port: 6432 }],
    ["/run/pg:6432", { host: "/run/pg", port: 6432 }],
  ])("has hosts as a tenant file states them: %s", (stated, read) => {
    expect(parseDatabaseHost(stated)).toEqual(read);
  });
});

function addressIn(url: string): DatabaseAddress | undefined {
  try {
    return parseDatabaseUrl(url);
  } catch (error) {
    expect(error).toBeInstanceOf(AddressProblem);
    return undefined;
  }
}
