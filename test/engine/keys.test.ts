import { describe, expect, test } from "vitest";
import { isLive } from "../../src/engine/access/keys.ts";
import type { Draft } from "../../src/engine/draft.ts";
import { type ApiKey, SINGLE } from "../../src/engine/rows.ts";
import { NOW, World } from "./world.ts";

const HOUR = 3_600_000;
const create = (name: string, hash: string, expiresAt: number | null = null, keyType: "admin" | "public" = "admin") =>
  ({ type: "createKey", name, keyType, hash, expiresAt }) as const;
const rotate = (name: string, hash: string, overlapMs: number) =>
  ({ type: "rotateKey", name, hash, overlapMs }) as const;

function liveHashes(world: World): string[] {
  return (world.get("keyring", SINGLE) ?? []).filter((key) => isLive(key, world.now)).map(({ hash }) => hash);
}

/** The keyring as the database would have it: what was written row by row. */
function writtenRows(draft: Draft): ApiKey[] {
  return [...draft.writes()].flatMap(({ table, row }) => (table === "apiKey" ? [row as ApiKey] : []));
}

describe("creating a key", () => {
  test("puts it into force and on record, with its name and type, its hash, and when it began and ends", () => {
    const world = new World();
    const { result, draft } = world.run(create("ops", "h1", NOW + HOUR));
    const expiresAt = new Date(NOW + HOUR).toISOString();
    expect(result).toMatchObject({ name: "ops", type: "admin", hash: "h1", createdAt: NOW, expiresAt: NOW + HOUR });
    expect(writtenRows(draft)).toEqual([result]);
    expect(draft.audit).toEqual([
      {
        type: "key.created",
        payload: {
          name: "ops",
          type: "admin",
          sha256: "h1",
          scopes: ["*"],
          from: [],
          expiresAt,
          keys: { h1: { scopes: ["*"], from: [], createdAt: new Date(NOW).toISOString(), expiresAt } },
        },
      },
    ]);
  });

  test("is refused while a key of the name is in force, of whichever type, and possible again afterwards", () => {
    const world = new World();
    world.run(create("web", "h1", NOW + HOUR));
    expect(world.refusal(create("web", "h2", null, "public"))).toBe("KEY_EXISTS");
    world.wait(HOUR);
    expect(world.refusal(create("web", "h2", null, "public"))).toBe("accepted");
  });

  test("with an end that has passed is refused", () => {
    expect(new World().refusal(create("ops", "h1", NOW))).toBe("BAD_REQUEST");
  });
});

describe("rotating a key", () => {
  test("both values work until the overlap ends, then the new one alone", () => {
    const world = new World();
    world.run(create("ops", "h1"));
    const { result } = world.run(rotate("ops", "h2", HOUR));
    expect(result).toMatchObject({ key: { name: "ops", type: "admin", expiresAt: null }, oldUntil: NOW + HOUR });
    expect(liveHashes(world)).toEqual(["h1", "h2"]);
    world.wait(HOUR - 1);
    expect(liveHashes(world)).toEqual(["h1", "h2"]);
    world.wait(1);
    expect(liveHashes(world)).toEqual(["h2"]);
  });

  test("without an overlap the old value ends at once, which is on record", () => {
    const world = new World();
    world.run(create("ops", "h1"));
    const { draft } = world.run(rotate("ops", "h2", 0));
    expect(liveHashes(world)).toEqual(["h2"]);
    expect(draft.audit.map(({ type }) => type)).toEqual(["key.created", "key.revoked"]);
  });

  test("never lets an old value live longer than it was to", () => {
    const world = new World();
    world.run(create("ops", "h1", NOW + HOUR));
    expect(world.run(rotate("ops", "h2", 5 * HOUR)).result.oldUntil).toBe(NOW + HOUR);
    world.wait(HOUR / 2);
    world.run(rotate("ops", "h3", 5 * HOUR));
    world.wait(HOUR / 2);
    expect(liveHashes(world)).toEqual(["h3"]);
  });

  test("gives the new value the lifetime of the old one, unless it is stated", () => {
    const world = new World();
    world.run(create("ops", "h1", NOW + 10 * HOUR));
    world.wait(HOUR);
    expect(world.run(rotate("ops", "h2", 0)).result.key?.expiresAt).toBe(NOW + 11 * HOUR);
    const stated = { ...rotate("ops", "h3", 0), expiresAt: NOW + 2 * HOUR };
    expect(world.run(stated).result.key?.expiresAt).toBe(NOW + 2 * HOUR);
  });

  test("is refused for a name that is not in force, and for another type", () => {
    const world = new World();
    expect(world.refusal(rotate("ops", "h2", 0))).toBe("NOT_FOUND");
    world.run(create("ops", "h1"));
    expect(world.refusal({ ...rotate("ops", "h2", 0), keyType: "public" })).toBe("NOT_FOUND");
  });
});

describe("revoking a key", () => {
  test("ends every value of the name at once and leaves the others", () => {
    const world = new World();
    world.run(create("ops", "h1"));
    world.run(create("web", "h9", null, "public"));
    world.run(rotate("ops", "h2", HOUR));
    const { result, draft } = world.run({ type: "revokeKey", name: "ops" });
    expect(result).toEqual({ name: "ops", type: "admin", revokedAt: NOW });
    expect(liveHashes(world)).toEqual(["h9"]);
    const now = new Date(NOW).toISOString();
    const ended = { scopes: ["*"], from: [], createdAt: now, expiresAt: now };
    expect(draft.audit).toEqual([
      { type: "key.revoked", payload: { name: "ops", type: "admin", keys: { h1: ended, h2: ended } } },
    ]);
    expect(world.refusal({ type: "revokeKey", name: "ops" })).toBe("NOT_FOUND");
  });

  test("is refused for the key that the request came with", () => {
    const world = new World();
    world.run(create("ops", "h1"));
    expect(world.refusal({ type: "revokeKey", name: "ops", usedName: "ops" })).toBe("KEY_IN_USE");
    expect(world.refusal({ type: "revokeKey", name: "ops", usedName: "other" })).toBe("accepted");
  });
});

describe("the scopes that a key gives to another", () => {
  const keys = { heldScopes: ["keys"] } as const;

  test("is never a scope that it lacks: to a new key, or with a value of one that has more", () => {
    const world = new World();
    world.run(create("ops", "h1"));
    world.run({ ...create("desk", "h2"), scopes: ["settle"] });
    expect(world.refusal({ ...create("thief", "h3"), ...keys })).toBe("SCOPE_REQUIRED");
    expect(world.refusal({ ...create("thief", "h3"), ...keys, scopes: ["keys", "read"] })).toBe("SCOPE_REQUIRED");
    expect(world.refusal({ ...create("ci", "h3"), ...keys, scopes: ["keys"] })).toBe("accepted");
    expect(world.refusal({ ...create("web", "h3", null, "public"), ...keys })).toBe("accepted");
    expect(world.refusal({ ...create("any", "h3"), heldScopes: ["*"] })).toBe("accepted");
    for (const name of ["ops", "desk"])
      expect(world.refusal({ ...rotate(name, "h3", 0), ...keys })).toBe("SCOPE_REQUIRED");
    expect(world.refusal({ ...rotate("desk", "h3", 0), heldScopes: ["keys", "settle"] })).toBe("accepted");
  });

  test("outlives a rotation unchanged: scopes and networks", () => {
    const world = new World();
    world.run({ ...create("desk", "h1"), scopes: ["read", "settle"], from: ["10.0.0.0/8"] });
    const { result, draft } = world.run(rotate("desk", "h2", HOUR));
    expect(result.key).toMatchObject({ hash: "h2", scopes: ["read", "settle"], from: ["10.0.0.0/8"] });
    const kept = { scopes: ["read", "settle"], from: ["10.0.0.0/8"] };
    expect(draft.audit[0]?.payload).toMatchObject({ ...kept, keys: { h1: kept, h2: kept } });
  });
});
