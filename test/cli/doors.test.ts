import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { policyShow, runPolicySet } from "../../src/cli/config/policy.ts";
import { marketShow } from "../../src/cli/market/market.ts";
import { marketList } from "../../src/cli/market/market-list.ts";
import type { Api } from "../../src/contract/operations.ts";
import { anyMarket } from "../support/market.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { end, runJson, testIo } from "./support/io.ts";

describe.each(doors)("commands through the %s door", (name, open) => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await open();
    api = door.api();
  });
  afterAll(() => door.close());

  const create = async (question: string) => (await api.createMarket(anyMarket({ question }))).id;

  test("the list goes over several pages, and says when there is more than was asked for", async () => {
    for (const number of [1, 2, 3]) await create(`Page ${number}?`);
    const some = await runJson((io) => marketList.run({ q: "page", limit: 2 }, api, io));
    expect(some.data).toHaveLength(2);
    expect(some.stderr).toBe("There are more than these 2: raise --limit.\n");
    const all = await runJson((io) => marketList.run({ q: "page", limit: 1000 }, api, io));
    expect(all.data).toHaveLength(3);
    expect(all.stderr).toBe("");
  });

  test("refusals have the same code, text and exit code, whatever an id looks like to a router", async () => {
    const refused = (id: string) => runJson((io) => marketShow.run({ id }, api, io));
    expect(await refused("mkt_nowhere")).toMatchObject({
      exit: 5,
      stdout: "",
      data: {
        error: "Market not found",
        code: "MARKET_NOT_FOUND",
        requestId: name === "db" ? null : expect.stringMatching(/^req_/),
        fix: "pmctl market list",
      },
    });
    // These are no identifiers to a router: the fixed path beside `:id`, and the steps that URLs resolve.
    for (const odd of ["trending", "..", "a/b", "%2e%2e", "x?y#z"])
      expect(await refused(odd)).toMatchObject({ exit: 5, data: { code: "MARKET_NOT_FOUND" } });
  });

  test("on a terminal a loosening asks for its reason, the change is shown, and a no changes nothing", async () => {
    const io = testIo({ answers: ["busier", false] });
    const ending = await end(io, () => runPolicySet({ patch: { maxTradeUsd: 900 } }, () => api, io));
    expect(ending).toMatchObject({ exit: 3, stdout: "" });
    expect(ending.stderr).toContain("maxTradeUsd: 500 -> 900");
    expect(io.questions).toEqual([
      "Loosening maxTradeUsd needs a reason in the audit log",
      "This LOOSENS maxTradeUsd. Change the policy?",
    ]);
    expect((await runJson((shown) => policyShow.run({}, api, shown))).data).toMatchObject({ maxTradeUsd: 500 });
  });
});
