import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { copyOfProduct } from "./copy-of-product.ts";
import { FAULTS } from "./planted-faults.ts";

const folder = import.meta.dirname;
const isModel = (name: string) => /^model.*\.ts$/.test(name);

/** The files that the model is made of: its own, and what they import. */
function filesOfModel(): string[] {
  const seen = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, target = ""] of readFileSync(file, "utf8").matchAll(/from "([^"]+)"/g))
      if (target.startsWith(".")) visit(join(dirname(file), target));
  };
  for (const name of readdirSync(folder).filter(isModel)) visit(join(folder, name));
  return [...seen];
}

test("the model shares no code with what it judges, and none with the database or the network", () => {
  const files = filesOfModel();
  expect(files.length).toBeGreaterThan(8);
  for (const file of files) {
    expect(dirname(file), file).toBe(folder);
    expect(
      [...readFileSync(file, "utf8").matchAll(/from "([^."][^"]*)"/g)].map(([, name]) => name),
      file,
    ).toEqual([]);
  }
});

test("files of the model test stay under 300 lines", () => {
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".ts")))
    expect(readFileSync(join(folder, name), "utf8").split("\n").length, name).toBeLessThan(300);
});

test("every planted fault finds its place in the sources", () => {
  for (const { name, file, right } of FAULTS) {
    const source = readFileSync(join(folder, "../..", file), "utf8");
    expect(source.split(right).length - 1, name).toBe(1);
  }
});

test("a copy to plant faults in has all of the project except its history and what is built or installed", async () => {
  const root = join(folder, "../..");
  const directory = await copyOfProduct(await mkdtemp(join(tmpdir(), "pmctl-copy-")));
  try {
    const left = readdirSync(root).filter((name) => !readdirSync(directory).includes(name));
    expect(left.filter((name) => ![".git", "dist"].includes(name))).toEqual([]);
  } finally {
    await rm(dirname(directory), { recursive: true });
  }
});
