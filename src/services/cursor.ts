import type { OperationId } from "../contract/operations.ts";
import { TextSigner } from "../domain/access/signed-text.ts";
import { canonicalJson, type Json } from "../domain/audit/audit-link.ts";
import type { AuditKey } from "../domain/audit/seal.ts";
import { Fault } from "../domain/fault.ts";
import type { Caller } from "./invoke.ts";

type Shape = readonly ("string" | "number")[];
type CursorValues<Of extends Shape> = { -readonly [Index in keyof Of]: Of[Index] extends "string" ? string : number };

/** 128 bits: too many to guess, and cursors stay short. */
const TAG_LENGTH = 22;
/** Inputs that choose and format a page; they do not change the items of the list. */
const PAGING = ["limit", "cursor", "format"];

/** Creates and reads the cursors of a tenant's lists, with keys that all servers of the tenant have. */
export class Cursors {
  readonly #signer: TextSigner;

  /** @param auditKeys the current key first; earlier keys still verify their cursors */
  constructor(auditKeys: readonly AuditKey[]) {
    this.#signer = new TextSigner(auditKeys, "cursor", TAG_LENGTH);
  }

  /**
   * One list as one caller reads it.
   * @param id the operation
   * @param input the decoded input; all fields except the paging fields are the filter
   * @param user the owner of the list; undefined for lists that are the same for every caller
   */
  list(id: OperationId, input: Readonly<Record<string, unknown>>, user?: Caller["user"]): List {
    const filter = Object.fromEntries(Object.entries(input).filter(([name]) => !PAGING.includes(name)));
    const scope = canonicalJson({ list: id, user: user?.id ?? null, filter: filter as Json });
    return new List(this.#signer, scope, typeof input.cursor === "string" ? input.cursor : undefined);
  }
}

/** The pages of one list. */
export class List {
  readonly #signer: TextSigner;
  readonly #scope: string;
  readonly #cursor: string | undefined;

  constructor(signer: TextSigner, scope: string, cursor: string | undefined) {
    this.#signer = signer;
    this.#scope = scope;
    this.#cursor = cursor;
  }

  /**
   * The start of the page; undefined for the first page.
   * @throws Fault BAD_REQUEST for a changed cursor, or a cursor of another list, caller or filter
   */
  reached<const Of extends Shape>(shape: Of): CursorValues<Of> | undefined {
    if (this.#cursor === undefined) return undefined;
    const place = this.#signer.verified(this.#scope, this.#cursor);
    // Another version of this program may put other values into a cursor under the same key.
    if (!isValues(place, shape)) throw new Fault("BAD_REQUEST", "cursor: not a cursor of this list");
    return place;
  }

  /** An opaque cursor, which callers must not interpret. */
  cursorAt(place: readonly (string | number)[]): string {
    return this.#signer.sign(this.#scope, place);
  }

  /**
   * The page and the cursor of the next page.
   * @param rows the rows found, one more than `limit` if there are more
   * @param placeOf the sort key of an item, after which the next page begins
   */
  page<Row>(
    rows: readonly Row[],
    limit: number,
    placeOf: (last: Row) => readonly (string | number)[],
  ): { page: Row[]; nextCursor: string | null } {
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return { page, nextCursor: rows.length > limit && last ? this.cursorAt(placeOf(last)) : null };
  }
}

function isValues<Of extends Shape>(value: unknown, shape: Of): value is CursorValues<Of> {
  return (
    Array.isArray(value) && value.length === shape.length && shape.every((type, index) => typeof value[index] === type)
  );
}
