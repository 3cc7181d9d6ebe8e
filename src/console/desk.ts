import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Api } from "../contract/operations.ts";
import { invariant } from "../domain/fault.ts";
import type { ApiOptions } from "./api.ts";
import type { Changes } from "./live/changes.ts";
import type { Session } from "./session.ts";

/** What happened after a confirmed action. */
export interface Notice {
  text: string;
  /** The number of the audit entry that it wrote. */
  seq?: string | number | null;
  /** Leads to what the action made. */
  link?: ComponentChildren;
  /** What the action answered. */
  result?: unknown;
}

/** What a view gets: the address's query, and the id at its end for the page of one thing. */
export interface ViewProps {
  query: URLSearchParams;
  id: string;
}

/** Everything that views share: who works here, and how to ask and tell. */
export interface Desk {
  session: Session;
  api: Api;
  /** An api for one change, or for one reading. */
  apiFor(options: ApiOptions): Api;
  changes: Changes;
  /** Shows a notice above the view. */
  tell(notice: Notice): void;
  /** Shows a dialog beside the view, so that it stays when the view is drawn without what it was opened from. */
  ask(dialog: ComponentChildren): void;
}

export const DeskContext = createContext<Desk | undefined>(undefined);

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  invariant(desk, "views are drawn for someone who is signed in");
  return desk;
}
