import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const DOCS = new URL("docs/", ROOT);

const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, url: new URL(name, DOCS), text: readFileSync(new URL(name, DOCS), "utf8") }));

test("the map of the documents names every page", () => {
  const map = pages.find(({ name }) => name === "README.md")?.text ?? "";
  const others = pages.map(({ name }) => name).filter((name) => name !== "README.md");
  expect(others.length).toBeGreaterThan(20);
  expect(others.filter((name) => !map.includes(`(${name})`))).toEqual([]);
});

test("every link between documents leads to a file", () => {
  const documents = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map((name) => {
    const url = new URL(name, ROOT);
    return { name, url, text: readFileSync(url, "utf8") };
  });
  const dead = [...documents, ...pages].flatMap(({ name, url, text }) =>
    [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(new URL(target, url)))
      .map((target) => `${name}: ${target}`),
  );
  expect(dead).toEqual([]);
});

test("every path of the project that a document names exists", () => {
  const documents = [
    ...pages,
    { name: "CONTRIBUTING.md", text: readFileSync(new URL("CONTRIBUTING.md", ROOT), "utf8") },
  ];
  const missing = documents.flatMap(({ name, text }) =>
    [...text.matchAll(/`((?:src|test|bin|docs|templates)\/[\w./-]+)`/g)]
      .map(([, path = ""]) => path)
      .filter((path) => !existsSync(new URL(path, ROOT)))
      .map((path) => `${name}: ${path}`),
  );
  expect(missing).toEqual([]);
});
