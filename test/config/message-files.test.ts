import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadTenant } from "../../src/config/tenant-file.ts";
import { checkMessageFiles } from "../../src/config/tenant-files/message-files.ts";
import { CATALOGUES } from "../../src/locales/catalogues.ts";
import { configErrorOf, directoryWith, tenantText } from "./support.ts";

const GERMAN = CATALOGUES.de;

/** What is wrong with a file that holds these messages, with its places. */
function complaintsOf(messages: object, locale = "de-CH"): string[] {
  const directory = directoryWith({ "words.json": JSON.stringify(messages, null, 2) });
  const { problems } = checkMessageFiles({ [locale]: "words.json" }, { directory, roots: [], locate: () => [] });
  return problems.map(
    ({ file, line, column, path, message }) =>
      `${file.replace(`${directory}/`, "")}:${line}:${column} ${path} ${message}`,
  );
}

describe("a file of embed.messages", () => {
  test("gives a language every message", () => {
    const directory = directoryWith({ "words.json": JSON.stringify(GERMAN) });
    const checked = checkMessageFiles({ "de-CH": "words.json" }, { directory, roots: [], locate: () => [] });
    expect(checked).toEqual({ messages: { "de-CH": GERMAN }, problems: [] });
  });

  test("that lacks a message, or has one that nothing shows, is refused at its place", () => {
    const { "common.back": _back, ...others } = GERMAN;
    expect(complaintsOf(others)).toEqual(["words.json:1:1 common.back is required"]);
    expect(complaintsOf({ "common.bakc": "Zurück", ...GERMAN })).toEqual([
      expect.stringMatching(/^words\.json:2:3 common\.bakc unknown key; did you mean "common\.back"/),
    ]);
  });

  test("that lacks a plural of its language, or fills in what is not there, is refused", () => {
    expect(complaintsOf({ "common.daysLeft": { other: "noch {count} Tage" }, ...without("common.daysLeft") })).toEqual([
      "words.json:2:22 common.daysLeft lacks the plural one of de-CH",
    ]);
    expect(complaintsOf({ "state.offline": "seit {zeit}", ...without("state.offline") })).toEqual([
      "words.json:2:20 state.offline contains {zeit}; the placeholders of this message are: {time}",
    ]);
  });

  test("that is not there, or lies outside the tenant's folder, is a problem of the tenant file", () => {
    const embed = "{ messages: { de: ../outside.json, nl: nl.json } }";
    const directory = directoryWith({
      "tenants/acme/tenant.yaml": tenantText({ embed }),
      "tenants/outside.json": JSON.stringify(GERMAN),
    });
    const { problems } = configErrorOf(() => loadTenant(join(directory, "tenants/acme/tenant.yaml")));
    expect(problems.map(({ line, path, message }) => `${line} ${path}: ${message}`)).toEqual([
      expect.stringMatching(/^\d+ embed\.messages\.de: \.\.\/outside\.json leads out of the tenant's folder/),
      expect.stringMatching(/^\d+ embed\.messages\.nl: nl\.json does not exist/),
    ]);
  });
});

test("embed.locale is a language that messages are in, or one near to it", () => {
  const complaints = (embed: string): string[] => {
    const file = join(directoryWith({ "tenants/acme/tenant.yaml": tenantText({ embed }) }), "tenants/acme/tenant.yaml");
    return configErrorOf(() => loadTenant(file)).problems.map(({ path, message }) => `${path}: ${message}`);
  };
  expect(complaints("{ locale: xx }")).toEqual([
    "embed.locale: has no messages: choose one of en, de, es, fr, pt-BR, ar, ja, or name a file of messages in embed.messages",
  ]);
  // Only the file is missed.
  expect(complaints("{ locale: nl-BE, messages: { nl: nl.json } }")).toEqual([
    expect.stringContaining("embed.messages.nl"),
  ]);
});

function without(key: keyof typeof GERMAN): object {
  return Object.fromEntries(Object.entries(GERMAN).filter(([name]) => name !== key));
}
