import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { contextNames, ROOT, readStages, type Stage } from "../image/containerfile.ts";

const { devDependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
  devDependencies: Record<string, string>;
};
const stages = readStages();
const final = stages.at(-1);
const textOf = (stage: Stage | undefined, wanted: string) =>
  stage?.instructions.filter(({ name }) => name === wanted).map(({ text }) => text) ?? [];

test("the image is built on the Node.js that pmctl is developed on, by its exact version", () => {
  const base = `docker.io/library/node:${devDependencies.node}-bookworm-slim`;
  expect(stages.map((stage) => stage.base)).toEqual([base, base]);
});

test("the image runs as a user without rights and a name, tells its health, and takes signals", () => {
  expect(textOf(final, "USER")).toEqual([expect.stringMatching(/^[1-9]\d{3,}:[1-9]\d{3,}$/)]);
  expect(textOf(final, "HEALTHCHECK")).toEqual([expect.stringContaining("/readyz")]);
  expect(textOf(final, "ENTRYPOINT")).toEqual(['["/usr/local/bin/pmctl"]']);
  expect(textOf(final, "COPY")).toContain("--from=build /src/bin/container.sh /usr/local/bin/pmctl");
  expect(readFileSync(`${ROOT}bin/container.sh`, "utf8")).toContain("exec tini -- node");
});

test("the image is made from named files of the checkout, and from the lockfile without scripts", () => {
  expect(contextNames().filter((name) => !existsSync(`${ROOT}${name}`))).toEqual([]);
  expect(contextNames().filter((name) => /env|node_modules|\.git|^test|^tenants$/.test(name))).toEqual([]);
  const installs = textOf(stages[0], "RUN").filter((text) => text.includes("npm ci"));
  expect(installs).toHaveLength(2);
  for (const text of installs) expect(text).toContain("--ignore-scripts");
  expect(installs[1]).toContain("--omit=dev");
});
