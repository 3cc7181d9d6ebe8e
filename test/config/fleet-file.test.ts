import { describe, expect, test } from "vitest";
import { readFleetFile, tenantsByWave } from "../../src/config/selection/fleet-file.ts";
import { parseSelector } from "../../src/config/selection/selector.ts";
import { configErrorOf, directoryWith } from "./support.ts";

/** A directory with these tenants and this `fleet.yaml`. */
function fleet(text: string) {
  return { directory: directoryWith({ "fleet.yaml": text }), tenants: ["acme-eu", "acme-us", "beta"] };
}

/** The contract's own example. */
const EXAMPLE = `version: 1
tenants: { acme-us: { url: https://us.acme.example } }
waves:
  - name: canary
    select: "tier=canary"
    tenants: ["acme-*"]
    parallelism: 1
    gate:
      doctor: true
      reconcile: true
      chain: true
      command: [./smoke.sh]
      commandTimeout: 60s
    onFailure: stop
`;

describe("fleet.yaml", () => {
  test("is read as the contract has it, defaults filled in", () => {
    expect(readFleetFile(fleet(EXAMPLE))).toEqual({
      version: 1,
      tenants: { "acme-us": { url: "https://us.acme.example" } },
      waves: [
        {
          name: "canary",
          select: { text: "tier=canary", requirements: parseSelector("tier=canary") },
          tenants: ["acme-*"],
          parallelism: 1,
          gate: {
            doctor: true,
            reconcile: true,
            chain: true,
            command: ["./smoke.sh"],
            commandTimeout: 60_000,
          },
          onFailure: "stop",
        },
      ],
    });
    const [wave] = readFleetFile(fleet("version: 1\nwaves: [{ name: all, tenants: ['*'] }]\n")).waves;
    expect(wave).toMatchObject({
      parallelism: 1,
      gate: { doctor: true, reconcile: true, chain: true, commandTimeout: 60_000 },
      onFailure: "stop",
    });
  });

  const waves = (...each: string[]) => `version: 1\nwaves:\n${each.map((wave) => `  - { ${wave} }\n`).join("")}`;

  test.each([
    ["", "1:1  is empty"],
    ["version: 2\nwaves: [{ name: a, select: a }]\n", "1:10 version must be 1"],
    ["version: 1\nwaves: []\n", "2:8 waves must have at least 1 entry"],
    [waves("name: a"), "3:5 waves[0] needs select, tenants or both"],
    [
      waves("name: a, select: 'a=b,,c'"),
      "3:24 waves[0].select is not a selector: character 5: expected a label's name",
    ],
    [waves("name: a, select: ''"), "3:24 waves[0].select is not a selector: character 1"],
    [waves("name: a, select: a", "name: a, select: b"), "4:13 waves[1].name must be unique"],
    [
      waves("name: a, tenants: [acme-ue]"),
      '3:26 waves[0].tenants[0] there is no such tenant here; did you mean "acme-eu"?',
    ],
    [waves("name: a, tenants: [../x]"), "3:26 waves[0].tenants[0] must be a tenant's id, or a pattern"],
    [waves("name: a, select: a, parallelism: 0"), "3:40 waves[0].parallelism must be at least 1"],
    [waves("name: a, select: a, onFailure: retry"), "3:38 waves[0].onFailure must be one of stop, rollback"],
    [waves("name: a, select: a, gate: { commandTimeout: 5 }"), "3:51 waves[0].gate.commandTimeout must be a text"],
    [
      waves("name: a, select: a, gate: { chian: false }"),
      '3:35 waves[0].gate.chian unknown key; did you mean "chain"?',
    ],
    [
      `${waves("name: a, select: a")}tenants: { gamma: { url: https://x.example } }\n`,
      "4:12 tenants.gamma there is no",
    ],
    [
      `${waves("name: a, select: a")}tenants: { beta: { url: http://x.example } }\n`,
      "4:25 tenants.beta.url must begin with https",
    ],
  ])("is refused with line and column: %j", (text, complaint) => {
    const error = configErrorOf(() => readFleetFile(fleet(text)));
    expect(error.exitCode).toBe(6);
    const [problem] = error.problems;
    expect(problem?.file).toMatch(/fleet\.yaml$/);
    expect(`${problem?.line}:${problem?.column} ${problem?.path} ${problem?.message}`).toContain(complaint);
  });

  test("has to be there", () => {
    const error = configErrorOf(() => readFleetFile({ directory: directoryWith(), tenants: [] }));
    expect(error.message).toMatch(/fleet\.yaml:1:1 {2}does not exist/);
  });
});

test("a tenant belongs to the first wave that selects it; select and tenants must both hold", () => {
  const labels = new Map([
    ["acme-eu", { tier: "canary" }],
    ["acme-us", {}],
    ["beta", { tier: "canary", region: "eu" }],
    ["gamma", { region: "eu" }],
    ["lone", {}],
  ]);
  const { waves } = readFleetFile(
    fleet(
      "version: 1\nwaves: [{ name: a, select: tier=canary, tenants: ['acme-*'] }, { name: b, select: region=eu }, { name: c, tenants: ['*-us', beta] }]\n",
    ),
  );
  const { waves: filled, unassigned } = tenantsByWave(waves, labels);
  expect(filled.map(({ wave, tenants }) => [wave.name, tenants])).toEqual([
    ["a", ["acme-eu"]],
    ["b", ["beta", "gamma"]],
    ["c", ["acme-us"]],
  ]);
  expect(unassigned).toEqual(["lone"]);
});
