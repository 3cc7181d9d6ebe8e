import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { execa } from "execa";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { planInit } from "../../src/config/init.ts";
import { directoryWith } from "./support.ts";

interface Job {
  needs: string[];
  rules: { if: string; when?: string }[];
  script: string[];
  before_script: string[];
  variables: Record<string, string>;
  artifacts: { paths: string[] };
}

const template = planInit({ tenant: "acme", template: "minimal", ci: "gitlab" }).find(
  ({ path }) => path === ".gitlab-ci.yml",
);
const pipeline: Record<"plan" | "comment" | "drift" | "issue", Job> = parse(template?.content ?? "");

const OWN = { id: 7 };
const ANOTHER = { id: 8 };

interface Item {
  id: number;
  iid: number;
  author: { id: number };
  title?: string;
  body?: string;
  description?: string;
  state_event?: string;
}

/** What GitLab has; tests fill it, and the scripts change it. */
let notes: Item[];
let issues: Item[];
/** Merge requests that the commit of the pipeline came with. */
let requests: { iid: number }[];

beforeEach(() => {
  notes = [];
  issues = [];
  requests = [];
});

/** Runs the script of a job in a directory of its own, against the part of GitLab's API that pipelines use. */
async function run(job: "comment" | "issue", files: Record<string, string>, env: Record<string, string> = {}) {
  const calls: string[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://gitlab");
    calls.push(`${request.method} ${pathname}`);
    const body: Partial<Item> = JSON.parse((await text(request)) || "{}");
    const answer = (value: unknown, status = 200) => response.writeHead(status).end(JSON.stringify(value));
    if (request.headers["private-token"] !== "secret") return answer({}, 401);
    if (pathname === "/user") return answer(OWN);
    if (pathname === "/projects/5/repository/commits/c0/merge_requests") return answer(requests);
    const [, kind, id] = /^\/projects\/5\/(issues|merge_requests\/12\/notes)(?:\/(\d+))?$/.exec(pathname) ?? [];
    if (kind === undefined) return answer({}, 404);
    const items = kind === "issues" ? issues : notes;
    const page = Number(searchParams.get("page"));
    if (request.method === "GET") return answer(items.slice((page - 1) * 100, page * 100));
    if (request.method === "POST") {
      items.push({ id: items.length + 1, iid: items.length + 1, author: OWN, ...body });
      return answer(items.at(-1), 201);
    }
    const item = items.find((each) => each.id === Number(id));
    return answer(Object.assign(item ?? {}, body), item ? 200 : 404);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { exitCode } = await execa("sh", ["-e", "-c", pipeline[job].script.join("\n")], {
    reject: false,
    cwd: directoryWith(files),
    stdin: "ignore",
    env: {
      CI_API_V4_URL: `http://127.0.0.1:${port}`,
      CI_PROJECT_ID: "5",
      CI_COMMIT_SHA: "c0",
      PMCTL_GITLAB_TOKEN: "secret",
      ...env,
    },
  });
  return { exitCode, calls, changes: calls.filter((call) => !call.startsWith("GET")) };
}

describe("the comment of the GitLab pipeline", () => {
  const plan = { "plan.md": "### Plan for acme" };
  const request = { CI_MERGE_REQUEST_IID: "12" };

  test("is made once at GitLab and then kept up to date, behind any number of other notes", async () => {
    notes = Array.from({ length: 130 }, (_, index) => ({
      id: index + 1,
      iid: index + 1,
      author: ANOTHER,
      body: index === 3 ? "<!-- pmctl plan -->\nof another" : "a remark",
    }));
    expect(await run("comment", plan, request)).toMatchObject({
      exitCode: 0,
      changes: ["POST /projects/5/merge_requests/12/notes"],
    });
    expect(notes.at(-1)?.body).toBe("<!-- pmctl plan -->\n### Plan for acme");
    const changed = await run("comment", { "plan.md": "changed\n/close\n" }, request);
    expect(changed).toMatchObject({ exitCode: 0, changes: ["PUT /projects/5/merge_requests/12/notes/131"] });
    expect(notes).toHaveLength(131);
    // A line of a report is no command to GitLab.
    expect(notes.at(-1)?.body).toBe("<!-- pmctl plan -->\nchanged\n&#47;close\n");
  });

  test("of a merge is at the merge request that it came with; a push without one, or no plan, writes none", async () => {
    requests = [{ iid: 12 }];
    expect((await run("comment", plan)).changes).toEqual(["POST /projects/5/merge_requests/12/notes"]);
    requests = [];
    expect(await run("comment", plan)).toMatchObject({ exitCode: 0, changes: [] });
    expect(await run("comment", {}, request)).toMatchObject({ exitCode: 0, calls: [] });
  });

  test("fails visibly where GitLab refuses the token", async () => {
    const { exitCode, changes } = await run("comment", plan, { ...request, PMCTL_GITLAB_TOKEN: "wrong" });
    expect({ exitCode, changes }).toEqual({ exitCode: 1, changes: [] });
  });
});

test("drift is one issue per tenant at GitLab: opened, kept up to date, and closed once nothing differs", async () => {
  const night = (code: string, report = "feeBps") =>
    run("issue", {
      "drift/acme.code": `${code}\n`,
      "drift/acme.md": report,
      "drift/zeta.code": "0\n",
      "drift/zeta.md": "",
    });
  issues = [{ id: 1, iid: 1, author: ANOTHER, title: "pmctl: acme was changed live" }];
  expect((await night("3")).changes).toEqual(["POST /projects/5/issues"]);
  expect(issues.at(-1)).toMatchObject({ title: "pmctl: acme was changed live", description: "feeBps" });
  expect((await night("3", "maxTradeUsd")).changes).toEqual(["PUT /projects/5/issues/2"]);
  expect(issues.at(-1)?.description).toBe("maxTradeUsd");
  expect((await night("9")).changes).toEqual([]);
  expect((await night("0")).changes).toEqual(["PUT /projects/5/issues/2"]);
  expect(issues).toHaveLength(2);
  expect(issues.at(-1)?.state_event).toBe("close");
  expect(await run("issue", {})).toMatchObject({ exitCode: 0, calls: [] });
});

test("the GitLab jobs that hold the token run nothing of the repository, and none of them without it", () => {
  for (const [job, made] of [
    ["comment", "plan"],
    ["issue", "drift"],
  ] as const) {
    const { needs, before_script, variables, rules } = pipeline[job];
    expect({ needs, before_script, variables }).toEqual({
      needs: [made],
      before_script: [],
      variables: { GIT_STRATEGY: "none" },
    });
    for (const { if: condition, when } of rules) {
      expect(condition).toMatch(/^\$PMCTL_GITLAB_TOKEN && /);
      // A refused plan, and drift, are failures that want to be told.
      expect(when).toBe("always");
    }
  }
  expect([pipeline.plan.artifacts.paths, pipeline.drift.artifacts.paths]).toEqual([
    ["plan.json", "plan.md"],
    ["drift"],
  ]);
});
